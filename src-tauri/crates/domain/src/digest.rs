//! SHA-256 digests as lower-case hex: of arguments, jobs, questions and rows.
//!
//! Digests that are compared in constant time (tokens) stay bytes, in `agent.rs`.

use sha2::{Digest, Sha256};

/// The hex SHA-256 of these bytes.
#[must_use]
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Bytes as lower-case hex, two digits each.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// Objects and arrays in each other that [`is_plainly_canonical`] looks into. Judgement: arguments have two or three.
const PLAIN_DEPTH: u8 = 16;
/// Digits of a whole number that a double holds exactly, whatever they are.
const EXACT_DIGITS: usize = 15;

/// Whether a text is JSON in the canonical form of RFC 8785 beyond doubt, without parsing it. Cautious: with escapes, with
/// characters beyond ASCII, or with numbers other than whole ones of at most 15 digits it is `false`, whatever its form.
#[must_use]
pub fn is_plainly_canonical(text: &str) -> bool {
    after_value(text.as_bytes(), PLAIN_DEPTH).is_some_and(<[u8]>::is_empty)
}

/// What follows the value at the beginning; `None` where it is not plainly canonical.
fn after_value(text: &[u8], depth: u8) -> Option<&[u8]> {
    let (first, rest) = text.split_first()?;
    match first {
        b'{' => after_members(rest, depth.checked_sub(1)?),
        b'[' => after_items(rest, depth.checked_sub(1)?),
        b'"' => after_string(rest).map(|(_, rest)| rest),
        b't' => rest.strip_prefix(b"rue"),
        b'f' => rest.strip_prefix(b"alse"),
        b'n' => rest.strip_prefix(b"ull"),
        b'0' => Some(rest),
        b'1'..=b'9' => after_digits(text),
        b'-' if rest.first().is_some_and(|digit| (b'1'..=b'9').contains(digit)) => after_digits(rest),
        _ => None,
    }
}

fn after_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > EXACT_DIGITS { None } else { text.get(digits..) }
}

/// The characters up to the closing quote, and what follows it.
fn after_string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| !matches!(byte, b' '..=b'~') || matches!(byte, b'"' | b'\\'))?;
    let (characters, rest) = text.split_at_checked(end)?;
    Some((characters, rest.strip_prefix(b"\"")?))
}

/// Behind the members of an object, whose names have to rise.
fn after_members(text: &[u8], depth: u8) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"}") {
        return Some(rest);
    }
    let (mut rest, mut before) = (text, None);
    loop {
        let (name, value) = after_string(rest.strip_prefix(b"\"")?)?;
        if before.is_some_and(|before| before >= name) {
            return None;
        }
        before = Some(name);
        let (end, following) = after_value(value.strip_prefix(b":")?, depth)?.split_first()?;
        match end {
            b',' => rest = following,
            b'}' => return Some(following),
            _ => return None,
        }
    }
}

fn after_items(text: &[u8], depth: u8) -> Option<&[u8]> {
    if let Some(rest) = text.strip_prefix(b"]") {
        return Some(rest);
    }
    let mut rest = text;
    loop {
        let (end, following) = after_value(rest, depth)?.split_first()?;
        match end {
            b',' => rest = following,
            b']' => return Some(following),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_in_lower_case_with_leading_zeros() {
        assert_eq!(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }

    #[test]
    fn what_is_plainly_canonical_is_its_own_canonical_form() {
        for text in [
            "{}",
            "[]",
            "0",
            "-7",
            "\"\"",
            "null",
            r#"{"":1,"A":"x y~","a":[true,false,null],"aa":{"b":-12,"c":[]}}"#,
            r#"[{"q":"SELECT 1"},0,999999999999999]"#,
        ] {
            assert!(is_plainly_canonical(text), "`{text}`");
            let value: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
            assert_eq!(serde_json_canonicalizer::to_string(&value).expect("it has a form"), text);
        }
    }

    #[test]
    fn what_may_have_another_canonical_form_is_not_plainly_canonical() {
        let deep = format!("{}{}", "[".repeat(17), "]".repeat(17));
        for text in [
            "",
            " {}",
            "{} ",
            "{}{}",
            r#"{"a": 1}"#,
            r#"{"b":1,"a":2}"#,
            r#"{"a":1,"a":2}"#,
            r#"{"a":1,}"#,
            r#"{"a"}"#,
            r#"{"a":1"#,
            "{a:1}",
            r#""\u0041""#,
            r#""tab\t""#,
            "\"é\"",
            "\"open",
            "-0",
            "-",
            "01",
            "1.0",
            "1e3",
            "1000000000000000",
            "[1,]",
            "[1 ,2]",
            "tru",
            "nul",
            &deep,
        ] {
            assert!(!is_plainly_canonical(text), "`{text}`");
        }
    }
}
