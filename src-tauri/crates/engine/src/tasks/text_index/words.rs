//! What of a payload is searched: its text without the marks of JSON, in small letters, cut to a size.
//!
//! Pure. Nothing is parsed, because a payload may be large and only its beginning is wanted; words that no person types,
//! such as pictures in base64, are left out.

/// A longer run without a space is data, not a word. Judgement: longer than any path people look for.
const WORD_BYTES_MAX: usize = 400;

/// The beginning of a JSON text as people would read it, at most about so many bytes.
pub(super) fn of_json(json: &str, most: usize) -> String {
    let mut text = Words { text: String::new(), word: 0, most };
    let mut characters = json.chars();
    let mut in_string = false;
    while let Some(character) = characters.next() {
        if text.is_full() {
            break;
        }
        match (in_string, character) {
            (false, '"') => in_string = true,
            // Between values, so that two of them are not one word.
            (false, '{' | '}' | '[' | ']' | ',' | ':') => text.push(' '),
            (true, '"') => {
                in_string = false;
                text.push(' ');
            }
            (true, '\\') => text.push(escaped(&mut characters)),
            (_, other) => text.push(other),
        }
    }
    text.end_word();
    text.text
}

/// A sentence of a server.
pub(super) fn of_sentence(sentence: &str, most: usize) -> String {
    let mut text = Words { text: String::new(), word: 0, most };
    for character in sentence.chars() {
        if text.is_full() {
            break;
        }
        text.push(character);
    }
    text.end_word();
    text.text
}

/// The character that an escape of JSON stands for; a space for what is no character of its own.
fn escaped(rest: &mut std::str::Chars<'_>) -> char {
    match rest.next() {
        Some('u') => {
            let digits: String = rest.by_ref().take(4).collect();
            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).unwrap_or(' ')
        }
        Some('n' | 't' | 'r' | 'b' | 'f') | None => ' ',
        Some(other) => other,
    }
}

struct Words {
    text: String,
    /// Where the word begins that is being read.
    word: usize,
    most: usize,
}

impl Words {
    fn is_full(&self) -> bool {
        self.word >= self.most
    }

    fn push(&mut self, character: char) {
        if character.is_whitespace() || character.is_control() {
            self.end_word();
            if !self.text.is_empty() && !self.text.ends_with(' ') {
                self.text.push(' ');
            }
            self.word = self.text.len();
        } else if self.text.len() - self.word <= WORD_BYTES_MAX {
            self.text.extend(character.to_lowercase());
        }
    }

    fn end_word(&mut self) {
        if self.text.len() - self.word > WORD_BYTES_MAX {
            self.text.truncate(self.word);
        }
        self.word = self.text.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_searched_as_people_read_it() {
        let json = r#"{"content":[{"type":"text","text":"Caf\u00e9 \"Noir\"\nDONE"}],"n":12}"#;
        assert_eq!(of_json(json, 1_000).trim(), "content type text text café \"noir\" done n 12");
    }

    #[test]
    fn data_that_nobody_types_takes_no_room() {
        let json = format!(r#"{{"data":"{}","text":"report"}}"#, "QUJD".repeat(1_000));
        assert_eq!(of_json(&json, 1_000).trim(), "data text report");
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        let text = of_sentence(&"word ".repeat(100), 23);
        assert_eq!(text.trim(), "word word word word word", "about as much as was asked for");
    }

    #[test]
    fn broken_json_is_searched_as_far_as_it_goes() {
        for broken in ["{\"a", "\\", "\"\\u12", "\"\\ud800x\"", ""] {
            let _ = of_json(broken, 100);
        }
        assert_eq!(of_json("\"\\ud800x\"", 100).trim(), "x", "half a pair is no character");
    }
}
