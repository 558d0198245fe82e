//! Words for a POSIX shell, so that a command that is shown can be pasted.

/// The word, quoted where the shell would read it otherwise. It never acts on the terminal that shows it.
#[must_use]
pub fn shell_quote(word: &str) -> String {
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+:=@%,".contains(c)) {
        return word.to_owned();
    }
    // What would act on the terminal that shows the command is written out instead.
    let acts = |c: char| c.is_control() || domain::policy::plain_text(&c.to_string(), 1).is_empty();
    if word.chars().any(acts) {
        let shown: String = word
            .chars()
            .map(|c| match c {
                '\'' | '\\' => format!("\\{c}"),
                c if acts(c) => format!("\\U{:08x}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        return format!("$'{shown}'");
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::shell_quote;

    #[test]
    fn a_shown_command_can_be_pasted_and_never_acts_on_the_terminal() {
        assert_eq!(shell_quote("/usr/bin/npx"), "/usr/bin/npx");
        assert_eq!(shell_quote("a b"), "'a b'");
        assert_eq!(shell_quote("it's"), r"'it'\''s'");
        assert_eq!(shell_quote(""), "''");
        assert_eq!(shell_quote("x\u{1b}[2K"), r"$'x\U0000001b[2K'");
        assert_eq!(shell_quote("rm\u{202e}gpj"), r"$'rm\U0000202egpj'", "text that reads backwards is shown as it is");
    }
}
