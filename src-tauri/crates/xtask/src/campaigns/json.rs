//! Reads one flat JSON object per line, as the measuring programs print it.
//!
//! Only what those lines need: text, numbers and null as values, no nesting. Anything else is `None`, which the
//! caller tells; a JSON library would be the only dependency of this crate.

use std::iter::Peekable;
use std::str::Chars;

/// The members of a flat object in order; numbers as they were written, null as `None`.
pub(crate) fn flat_object(line: &str) -> Option<Vec<(String, Option<String>)>> {
    let mut rest = line.trim().chars().peekable();
    let mut members = Vec::new();
    take(&mut rest, '{')?;
    skip_space(&mut rest);
    if rest.peek() == Some(&'}') {
        rest.next();
        return rest.next().is_none().then_some(members);
    }
    loop {
        skip_space(&mut rest);
        let name = text(&mut rest)?;
        skip_space(&mut rest);
        take(&mut rest, ':')?;
        skip_space(&mut rest);
        members.push((name, value(&mut rest)?));
        skip_space(&mut rest);
        match rest.next()? {
            ',' => {}
            '}' => return rest.next().is_none().then_some(members),
            _ => return None,
        }
    }
}

fn value(rest: &mut Peekable<Chars<'_>>) -> Option<Option<String>> {
    if rest.peek() == Some(&'"') {
        return text(rest).map(Some);
    }
    let mut word = String::new();
    while let Some(&next) = rest.peek() {
        if matches!(next, ',' | '}') || next.is_whitespace() {
            break;
        }
        word.push(next);
        rest.next();
    }
    match word.as_str() {
        "null" => Some(None),
        "true" | "false" => Some(Some(word)),
        number => number.parse::<f64>().is_ok().then_some(Some(word)),
    }
}

fn text(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    take(rest, '"')?;
    let mut read = String::new();
    loop {
        match rest.next()? {
            '"' => return Some(read),
            '\\' => match rest.next()? {
                'n' => read.push('\n'),
                't' => read.push('\t'),
                'r' => read.push('\r'),
                'u' => {
                    let digits: String = rest.by_ref().take(4).collect();
                    read.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                plain @ ('"' | '\\' | '/') => read.push(plain),
                _ => return None,
            },
            plain => read.push(plain),
        }
    }
}

fn skip_space(rest: &mut Peekable<Chars<'_>>) {
    while rest.peek().is_some_and(|next| next.is_whitespace()) {
        rest.next();
    }
}

fn take(rest: &mut Peekable<Chars<'_>>, wanted: char) -> Option<()> {
    (rest.next()? == wanted).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_line_is_read_in_order() {
        let read = flat_object(r#"{"metric":"commits","reference":1200.5,"aim":null, "unit":"a\"\u0062"}"#);
        let expected = vec![
            ("metric".to_owned(), Some("commits".to_owned())),
            ("reference".to_owned(), Some("1200.5".to_owned())),
            ("aim".to_owned(), None),
            ("unit".to_owned(), Some("a\"b".to_owned())),
        ];
        assert_eq!(read, Some(expected), "text, numbers, null and escapes");
        assert_eq!(flat_object("{}"), Some(Vec::new()), "an empty object");
    }

    #[test]
    fn anything_but_a_flat_object_is_told_apart() {
        for bad in ["", "running…", "[1]", r#"{"a":{"b":1}}"#, r#"{"a":1} x"#, r#"{"a":nonsense}"#, r#"{"a":"#] {
            assert_eq!(flat_object(bad), None, "`{bad}` is not a measured line");
        }
    }
}
