//! A Rust file as the checks need it: code without the insides of comments and texts, and which lines are tests.
//!
//! A small lexer, not a parser: it knows comments, texts, characters and braces, which is enough to tell code from
//! words about code. `shipped.rs` decides what the marks mean.

mod lexer;
mod test_code;

use test_code::TestCode;

/// A file, read once and shared by the checks.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path below the root, with `/`.
    pub(crate) path: String,
    /// As written.
    pub(crate) text: String,
    /// As long as `text`, with spaces in place of comments and of what stands between quotes.
    pub(crate) code: String,
    tests: TestCode,
}

impl Source {
    /// Reads the text of a file.
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let code = lexer::code_of(text);
        let tests = TestCode::find(&code);
        Self { path: path.to_owned(), text: text.to_owned(), code, tests }
    }

    /// Modules that are declared for tests only, by name.
    pub(crate) fn test_modules(&self) -> &[String] {
        &self.tests.modules
    }

    /// Every place of `needle` in the code that is not inside a `#[cfg(test)]` item, as offsets of what follows it.
    pub(crate) fn shipped_places<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = Place<'a>> + 'a {
        self.places(needle).filter(|place| !self.tests.covers(place.at))
    }

    /// How many lines hold code that is not a test's.
    pub(crate) fn shipped_lines(&self) -> usize {
        let mut at = 0;
        let lines = self.code.split_inclusive('\n').filter(|line| {
            let begins = at;
            at += line.len();
            !line.trim().is_empty() && !self.tests.covers(begins + line.len() - line.trim_start().len())
        });
        lines.count()
    }

    /// Every place of `needle` in the code.
    pub(crate) fn places<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = Place<'a>> + 'a {
        self.code.match_indices(needle).map(move |(at, _)| {
            let (before, rest) = self.code.split_at(at);
            let line = before.matches('\n').count() + 1;
            Place { at, line, before, after: rest.strip_prefix(needle).unwrap_or(rest) }
        })
    }
}

/// Where something stands in the code.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Offset in bytes.
    pub(crate) at: usize,
    /// From 1.
    pub(crate) line: usize,
    /// The code before it.
    pub(crate) before: &'a str,
    /// The code after it.
    pub(crate) after: &'a str,
}

impl Place<'_> {
    /// Whether it is a word of its own, not the end or the beginning of a longer one.
    pub(crate) fn is_whole_word(&self) -> bool {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        !self.before.ends_with(part) && !self.after.starts_with(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_texts_are_not_code() {
        let source = Source::read("a.rs", "// dbg!(1)\nlet a = \"dbg!(2)\"; /* dbg!(3) */ dbg!(4);\n");
        let lines: Vec<usize> = source.places("dbg!(").map(|place| place.line).collect();
        assert_eq!(lines, [2], "only the call is code");
        assert_eq!(source.code.len(), source.text.len(), "offsets are those of the file");
    }

    #[test]
    fn test_items_are_told_from_shipped_code() {
        let text = "fn a() { x() }\n#[cfg(test)]\nmod tests {\n    fn b() { x() }\n}\nfn c() { x() }\n";
        let source = Source::read("a.rs", text);
        let lines: Vec<usize> = source.shipped_places("x()").map(|place| place.line).collect();
        assert_eq!(lines, [1, 6], "the middle one is in a test module");
    }
}
