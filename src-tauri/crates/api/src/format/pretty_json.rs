//! Lays JSON out for reading, token by token.
//!
//! Values are never parsed, so that long numbers, repeated keys and escapes stay as they are on the wire. Text that is not
//! JSON is laid out by its brackets, which is harmless.

/// Spaces for each level. Judgement.
const STEP: &str = "  ";
/// Deeper levels are not indented further. Judgement: a hostile text must not grow with the square of its depth.
const INDENTED_MAX: usize = 32;

/// The same JSON, one member or element on each line.
pub(crate) fn pretty(text: &str) -> String {
    let mut out = String::with_capacity(text.len().saturating_add(text.len() / 4));
    let mut depth: usize = 0;
    let mut rest = text.trim();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        rest = match c {
            '"' => {
                let (string, after) = rest.split_at(string_end(rest));
                out.push_str(string);
                after
            }
            '{' | '[' => {
                let inner = after.trim_start();
                out.push(c);
                if let Some(beyond) = inner.strip_prefix(if c == '{' { '}' } else { ']' }) {
                    out.push(if c == '{' { '}' } else { ']' });
                    beyond
                } else {
                    depth = depth.saturating_add(1);
                    line(&mut out, depth);
                    inner
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
                after
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
                after.trim_start()
            }
            ':' => {
                out.push_str(": ");
                after.trim_start()
            }
            ' ' | '\t' | '\n' | '\r' => after,
            other => {
                out.push(other);
                after
            }
        };
    }
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth.min(INDENTED_MAX) {
        out.push_str(STEP);
    }
}

/// Where the string ends that the text begins with, its closing quote included.
fn string_end(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at.saturating_add(1),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_laid_out_without_changing_a_single_token() {
        let odd = r#"{"a" :1.0000000000000000001,"a":[ ],"b":{"x\"}":[true,{}]}, "c":"\u0041 {,}" }"#;
        let laid = "{\n  \"a\": 1.0000000000000000001,\n  \"a\": [],\n  \"b\": {\n    \"x\\\"}\": [\n      true,\n      {}\n    ]\n  },\n  \"c\": \"\\u0041 {,}\"\n}";
        assert_eq!(pretty(odd), laid);
        assert_eq!(pretty("\"only text\""), "\"only text\"");
        assert_eq!(pretty("{\"unclosed\": \"ä"), "{\n  \"unclosed\": \"ä", "what is broken is shown, not lost");
    }

    #[test]
    fn a_text_of_a_hundred_thousand_brackets_does_not_explode() {
        let deep = "[".repeat(100_000);
        assert!(pretty(&deep).len() < deep.len() * 80, "indentation stops growing");
    }
}
