//! Prints the types of calls and frames as TypeScript; `cargo xtask bindings` puts them where the window reads them.

use std::io::Write as _;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(api::bindings::typescript().as_bytes())
}
