//! The classes of pieces that estimates distinguish, and how much of each a text has.
//!
//! A piece is what o200k splits off (a word with the space before it, up to three digits, a run of signs). Its class is
//! read from its first characters, which is cheap and the same for all families. Factors are in `factors.rs`.

use crate::bpe::{Vocabulary, wide};

/// The kinds of pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Lower-case ASCII letters after a space, a few.
    Word,
    /// The same, more than a few: families with small vocabularies split them.
    LongWord,
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
    /// ASCII words among words with letters beyond ASCII: another language than English.
    Foreign,
    /// The same, long.
    LongForeign,
    /// ASCII letters, several of them capitals.
    Capitals,
    /// ASCII letters that are no word: keys, digests, base64.
    Noise,
    Digits,
    Signs,
    /// White space with line ends.
    Lines,
    /// White space without.
    Spaces,
    Han,
    Kana,
    Hangul,
    /// Latin letters beyond ASCII.
    Latin,
    Greek,
    Cyrillic,
    /// Hebrew and Arabic letters.
    Semitic,
    Devanagari,
    /// The other scripts of India.
    Indic,
    /// All other letters: Armenian, Georgian, Thai and so on.
    Far,
    /// All other signs: typographic ones, frames, emoji.
    Symbols,
}

/// How many classes there are.
pub const CLASSES: usize = Class::Symbols as usize + 1;

/// Words that count as foreign after each word with a letter beyond ASCII. Judgement: European languages that have such
/// letters have one in ten words or fewer.
const FOREIGN_FOR: u8 = 20;
/// Words that count as foreign at most before the next such word. Judgement.
const FOREIGN_MOST: u8 = 60;

/// Bytes of a short word, the space before it included. Judgement: what all vocabularies have whole.
const SHORT_WORD: usize = 6;

/// How much of each class a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// By class: pieces, tokens of o200k, and bytes.
    pub amounts: [[u64; 3]; CLASSES],
    /// One bit for each class that the text has.
    present: u32,
    foreign: u8,
}

const _: () = assert!(CLASSES <= u32::BITS as usize, "each class has a bit");

impl Features {
    pub(crate) fn add(&mut self, piece: &str, tokens: u64) {
        let class = self.in_context(class(piece, tokens), piece.len());
        self.present |= 1 << class as u32;
        if let Some([pieces, all, bytes]) = self.amounts.get_mut(class as usize) {
            *pieces += 1;
            *all += tokens;
            *bytes += wide(piece.len());
        }
    }

    /// The classes that the text has, with their amounts. A short text has a few.
    pub(crate) fn present(&self) -> impl Iterator<Item = (usize, [u64; 3])> {
        let mut left = self.present;
        std::iter::from_fn(move || {
            let class = usize::try_from(left.trailing_zeros()).ok()?;
            // Without a bit there is no such class.
            let amounts = *self.amounts.get(class)?;
            left &= left.wrapping_sub(1);
            Some((class, amounts))
        })
    }

    /// The class among what came before.
    fn in_context(&mut self, class: Class, length: usize) -> Class {
        match class {
            Class::Latin => {
                self.foreign = self.foreign.saturating_add(FOREIGN_FOR).min(FOREIGN_MOST);
                class
            }
            Class::Word
            | Class::LongWord
            | Class::WordBare
            | Class::WordLed
            | Class::Capital
            | Class::CapitalBare
            | Class::CapitalLed => {
                let Some(left) = self.foreign.checked_sub(1) else { return class };
                self.foreign = left;
                if length > SHORT_WORD { Class::LongForeign } else { Class::Foreign }
            }
            Class::Foreign
            | Class::LongForeign
            | Class::Capitals
            | Class::Noise
            | Class::Digits
            | Class::Signs
            | Class::Lines
            | Class::Spaces
            | Class::Han
            | Class::Kana
            | Class::Hangul
            | Class::Greek
            | Class::Cyrillic
            | Class::Semitic
            | Class::Devanagari
            | Class::Indic
            | Class::Far
            | Class::Symbols => class,
        }
    }
}

/// The features of a text: what factors are fitted to.
#[must_use]
pub fn features(text: &str) -> Features {
    let mut features = Features::default();
    for piece in Vocabulary::O200k.pieces(text) {
        features.add(piece, Vocabulary::O200k.piece(piece));
    }
    features
}

/// Characters of a piece that are looked at. A piece is one run of letters or of signs: its beginning tells which, and
/// a piece of a million costs no more than others.
const LOOKED_AT: usize = 16;

fn class(piece: &str, tokens: u64) -> Class {
    let mut rest = piece.chars();
    let Some(first) = rest.next() else { return Class::Spaces };
    if first.is_ascii_digit() {
        return Class::Digits;
    }
    // A word takes one sign or space before it along.
    let (letters, led, spaced) =
        if first.is_alphabetic() { (piece, false, false) } else { (rest.as_str(), first != ' ', first == ' ') };
    if !letters.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        return beyond(piece);
    }
    let mut capitals = 0_usize;
    for byte in letters.bytes().take(LOOKED_AT) {
        if !byte.is_ascii() {
            return beyond(piece);
        }
        capitals += usize::from(byte.is_ascii_uppercase());
    }
    if tokens >= 2 && tokens * 3 > wide(letters.len()) {
        return Class::Noise;
    }
    match (capitals, led, spaced) {
        (0, false, true) if letters.len() < SHORT_WORD => Class::Word,
        (0, false, true) => Class::LongWord,
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
    for character in piece.chars().take(LOOKED_AT) {
        class = match character {
            '\n' | '\r' => return Class::Lines,
            ' ' | '\t' => continue,
            '0'..='9' => return Class::Digits,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => return Class::Latin,
            '\u{370}'..='\u{3ff}' => return Class::Greek,
            '\u{400}'..='\u{52f}' => return Class::Cyrillic,
            '\u{590}'..='\u{6ff}' => return Class::Semitic,
            '\u{900}'..='\u{97f}' => return Class::Devanagari,
            '\u{980}'..='\u{dff}' => return Class::Indic,
            '\u{3040}'..='\u{30ff}' => return Class::Kana,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{3ffff}' => {
                if piece.chars().take(LOOKED_AT).any(|c| ('\u{3040}'..='\u{30ff}').contains(&c)) {
                    return Class::Kana;
                }
                return Class::Han;
            }
            '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => return Class::Hangul,
            'a'..='z' | 'A'..='Z' => Class::Latin,
            other if other.is_alphabetic() => return Class::Far,
            other if other.is_ascii() && class != Class::Symbols => Class::Signs,
            other if other.is_ascii() => Class::Symbols,
            _ => Class::Symbols,
        };
    }
    // White space with line ends in it always ends with one.
    if class == Class::Spaces && piece.ends_with(['\n', '\r']) { Class::Lines } else { class }
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
            (" knowledge", Class::LongWord),
            ("get", Class::WordBare),
            (".name", Class::WordLed),
            (" The", Class::Capital),
            ("Element", Class::CapitalBare),
            (" HTTP", Class::Capitals),
            ("123", Class::Digits),
            ("“The", Class::CapitalLed),
            (" ::", Class::Signs),
            ("\n\n", Class::Lines),
            ("                    \n", Class::Lines),
            ("   ", Class::Spaces),
            ("中文", Class::Han),
            ("，中文", Class::Han),
            ("ありがとう", Class::Kana),
            ("食べる", Class::Kana),
            ("한국어", Class::Hangul),
            (" größer", Class::Latin),
            (" мир", Class::Cyrillic),
            (" λόγος", Class::Greek),
            (" שלום", Class::Semitic),
            (" नमस्ते", Class::Devanagari),
            (" বাংলা", Class::Indic),
            (" สวัสดี", Class::Far),
            ("──", Class::Symbols),
        ];
        for (piece, class) in said {
            assert_eq!(of(piece), class, "`{piece}`");
        }
    }

    #[test]
    fn a_key_is_noise_and_no_word() {
        let text = "qZxJwVbKpLmNtR";
        assert!(features(text).amounts[Class::Noise as usize][2] > 0, "letters without a word in them");
    }
}
