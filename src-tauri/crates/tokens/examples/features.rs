//! Prints the features of texts, one line of numbers for each path on standard input: what factors are fitted to.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a development tool that cannot go on has nothing to say"
)]

fn main() {
    for path in std::io::stdin().lines() {
        let path = path.expect("a path a line");
        let text = std::fs::read_to_string(&path).expect("a text");
        let features = tokens::features(&text).amounts.as_flattened().iter().map(u64::to_string).collect::<Vec<_>>();
        println!("{path}\t{}", features.join(" "));
    }
}
