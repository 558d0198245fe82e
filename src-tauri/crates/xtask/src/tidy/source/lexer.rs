//! Blanks out comments and the insides of texts and characters, keeping every line and offset.
//!
//! Knows nested comments, raw and byte texts, and lifetimes. It does not check that the file is Rust: a file that
//! does not compile is rustc's to tell.

/// The code of a file, as long as the file.
pub(crate) fn code_of(text: &str) -> String {
    let mut lexer = Lexer { rest: text, code: String::with_capacity(text.len()) };
    while !lexer.rest.is_empty() {
        lexer.step();
    }
    lexer.code
}

struct Lexer<'a> {
    rest: &'a str,
    code: String,
}

impl Lexer<'_> {
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.blank(end);
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment(self.rest));
        } else if let Some(hashes) = raw_text(self.rest, &self.code) {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = self.rest.find('"').map_or(self.rest.len(), |at| at + 1);
            self.keep(open);
            let inside = self.rest.find(&close).unwrap_or(self.rest.len());
            self.blank(inside);
            self.keep(close.len());
        } else if self.rest.starts_with('"') {
            self.keep(1);
            self.blank(until_quote(self.rest, '"'));
            self.keep(1);
        } else if let Some(inside) = character(self.rest) {
            self.keep(1);
            self.blank(inside);
            self.keep(1);
        } else {
            let first = self.rest.chars().next().map_or(0, char::len_utf8);
            self.keep(first);
        }
    }

    /// Takes over `bytes` as they are.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.code.push_str(kept);
        self.rest = rest;
    }

    /// Puts a space for each byte, and keeps the ends of lines.
    fn blank(&mut self, bytes: usize) {
        let (blanked, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.code.extend(blanked.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

/// Length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// How many hashes a raw text has, when one begins here (`r"`, `br#"`, `cr"`).
fn raw_text(rest: &str, before: &str) -> Option<usize> {
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let marks = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r')?;
    let quoted = marks.trim_start_matches('#');
    quoted.starts_with('"').then(|| marks.len() - quoted.len())
}

/// Bytes until the quote that ends it, which is not behind a backslash.
fn until_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == quote && !escaped {
            return at;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// Bytes between the quotes of a character; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    if first == '\\' {
        return Some(until_quote(inside, '\''));
    }
    let length = first.len_utf8();
    inside.get(length..)?.starts_with('\'').then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, code: &str) {
        assert_eq!(code_of(text), code, "of `{text}`");
    }

    #[test]
    fn texts_of_every_kind_are_emptied() {
        check(r#"f("a\"b", b)"#, r#"f("    ", b)"#);
        check(r##"f(r#"a"b"#, b)"##, r##"f(r#"   "#, b)"##);
        check(r#"f(b"ab", br"\", c)"#, r#"f(b"  ", br" ", c)"#);
        check("let var\"x\"", "let var\" \"");
    }

    #[test]
    fn characters_are_emptied_and_lifetimes_are_kept() {
        check("f('\"', '\\'', 'é')", "f(' ', '  ', '  ')");
        check("fn f<'a>(a: &'a str) {}", "fn f<'a>(a: &'a str) {}");
    }

    #[test]
    fn comments_may_hold_comments_and_lines_are_kept() {
        check("a /* b /* c */ \n d */ e // f\ng", "a              \n      e     \ng");
        check("a /* never closed", "a                ");
    }
}
