//! What a piece of text is like: the classes that estimates tell apart, and how much of each a text has.
//!
//! A piece is what o200k splits off (a word with the space before it, up to three digits, a run of signs). Its class is
//! read from its first characters, which is cheap and the same for all families. Factors are in `factors.rs`.

use crate::bpe::{Vocabulary, wide};

/// The kinds of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Lower-case ASCII letters after a space.
    Word,
    /// The same with nothing before them: a beginning, or a part of a longer name.
    WordBare,
    /// The same after a sign.
    WordLed,
    /// ASCII letters with one capital in front, after a space.
    Capital,
    /// The same with nothing before them.
    CapitalBare,
    /// The same after a sign.
    CapitalLed,
    /// ASCII letters, several of them capitals.
    Capitals,
    /// ASCII letters that are no word: keys, digests, base64.
    Noise,
    /// Digits.
    Digits,
    /// ASCII signs.
    Signs,
    /// White space with line ends.
    Lines,
    /// White space without.
    Spaces,
    /// Chinese characters.
    Han,
    /// Japanese syllables.
    Kana,
    /// Korean syllables.
    Hangul,
    /// Latin letters beyond ASCII.
    Latin,
    /// Letters of two bytes: Greek, Cyrillic, Hebrew, Arabic.
    Near,
    /// All other letters: Indic scripts, Thai and so on.
    Far,
    /// All other signs: typographic ones, frames, emoji.
    Symbols,
}

/// How many classes there are.
pub const CLASSES: usize = Class::Symbols as usize + 1;

/// How much of each class a text has: pieces, tokens of o200k, and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(pub [[u64; 3]; CLASSES]);

impl Features {
    pub(crate) fn add(&mut self, piece: &str, tokens: u64) {
        let class = class(piece, tokens);
        if let Some([pieces, all, bytes]) = self.0.get_mut(class as usize) {
            *pieces += 1;
            *all += tokens;
            *bytes += wide(piece.len());
        }
    }
}

/// The features of a text: what factors are fitted to.
#[must_use]
pub fn features(text: &str) -> Features {
    let mut features = Features::default();
    for (piece, tokens) in Vocabulary::O200k.pieces(text) {
        features.add(piece, tokens);
    }
    features
}

fn class(piece: &str, tokens: u64) -> Class {
    let bytes = piece.as_bytes();
    let Some(&first) = bytes.first() else { return Class::Spaces };
    let (letters, led, spaced) = match first {
        b'a'..=b'z' | b'A'..=b'Z' => (bytes, false, false),
        b'0'..=b'9' => return Class::Digits,
        _ => match bytes.get(1) {
            Some(b'a'..=b'z' | b'A'..=b'Z') if first.is_ascii() => {
                (bytes.get(1..).unwrap_or_default(), first != b' ', first == b' ')
            }
            _ => return beyond(piece),
        },
    };
    let mut capitals = 0_usize;
    for &byte in letters {
        if !byte.is_ascii() {
            return beyond(piece);
        }
        capitals += usize::from(byte.is_ascii_uppercase());
    }
    if tokens >= 2 && tokens * 3 > wide(letters.len()) {
        return Class::Noise;
    }
    match (capitals, led, spaced) {
        (0, false, true) => Class::Word,
        (0, false, false) => Class::WordBare,
        (0, true, _) => Class::WordLed,
        (1, false, true) => Class::Capital,
        (1, false, false) => Class::CapitalBare,
        (1, true, _) => Class::CapitalLed,
        _ => Class::Capitals,
    }
}

/// The class of a piece that is no ASCII word: by its first letter that is, or else by its signs.
fn beyond(piece: &str) -> Class {
    let mut class = Class::Spaces;
    // A piece is one run of letters or of signs; a few characters tell which.
    for character in piece.chars().take(8) {
        class = match character {
            '\n' | '\r' => return Class::Lines,
            ' ' | '\t' => continue,
            '0'..='9' => return Class::Digits,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => return Class::Latin,
            '\u{370}'..='\u{7ff}' => return Class::Near,
            '\u{3040}'..='\u{30ff}' => return Class::Kana,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{3ffff}' => {
                if piece.chars().take(8).any(|c| ('\u{3040}'..='\u{30ff}').contains(&c)) {
                    return Class::Kana;
                }
                return Class::Han;
            }
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => return Class::Hangul,
            'a'..='z' | 'A'..='Z' => Class::Latin,
            other if other.is_alphabetic() => return Class::Far,
            other if other.is_ascii() => Class::Signs,
            _ => return Class::Symbols,
        };
    }
    if class == Class::Spaces && (piece.contains('\n') || piece.contains('\r')) { Class::Lines } else { class }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Class {
        class(text, Vocabulary::O200k.count(text))
    }

    #[test]
    fn pieces_are_told_apart_by_what_they_are_made_of() {
        let said = [
            (" the", Class::Word),
            ("get", Class::WordBare),
            (".name", Class::WordLed),
            (" The", Class::Capital),
            ("Element", Class::CapitalBare),
            (" HTTP", Class::Capitals),
            ("123", Class::Digits),
            (" ::", Class::Signs),
            ("\n\n", Class::Lines),
            ("                    \n", Class::Lines),
            ("   ", Class::Spaces),
            ("中文", Class::Han),
            ("ありがとう", Class::Kana),
            ("食べる", Class::Kana),
            ("한국어", Class::Hangul),
            (" größer", Class::Latin),
            (" мир", Class::Near),
            (" नमस्ते", Class::Far),
            ("──", Class::Symbols),
        ];
        for (piece, class) in said {
            assert_eq!(of(piece), class, "`{piece}`");
        }
    }

    #[test]
    fn a_key_is_noise_and_no_word() {
        let text = "qZxJwVbKpLmNtR";
        assert!(features(text).0[Class::Noise as usize][2] > 0, "letters without a word in them");
    }
}
