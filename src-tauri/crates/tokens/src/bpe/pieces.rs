//! Splits ASCII text into the pieces of a vocabulary without its regular expression.
//!
//! A tokenizer splits a text before it encodes it, and with most counts remembered (`piece_cache.rs`) that is where the
//! time went: the expression takes about 200 ns for a piece, a look at its bytes a few. Both vocabularies split ASCII
//! by the same rules but for the three things in [`SplitRules`]. Whatever could be continued by a character beyond ASCII is
//! left to the expression, whose pieces depend on nothing that stands before them; the tests hold the two together.

use super::expression::Expression;

/// Where the two vocabularies differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SplitRules {
    /// A word is capitals and then small letters, takes `'s` along, and signs take line ends and slashes along.
    O200k,
    /// A word is letters, `'s` is a piece of its own, and signs take line ends along.
    Cl100k,
}

/// Digits of the longest piece of digits.
const DIGITS: usize = 3;

/// The pieces of a text in order.
pub(crate) struct Pieces<'a> {
    rest: &'a str,
    rules: SplitRules,
    expression: &'static Expression,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(text: &'a str, rules: SplitRules, expression: &'static Expression) -> Self {
        Self { rest: text, rules, expression }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let known = self.rules.first(self.rest.as_bytes()).and_then(|length| self.rest.split_at_checked(length));
        if let Some((piece, rest)) = known {
            self.rest = rest;
            return Some(piece);
        }
        if self.rest.is_empty() {
            return None;
        }
        let (piece, rest) = self.rest.split_at_checked(self.expression.first(self.rest))?;
        self.rest = rest;
        Some(piece)
    }
}

/// What the rules distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
    /// Blanks that end no line.
    Blank,
    LineEnd,
    /// Everything else of ASCII, control characters among it.
    Sign,
    /// Part of a character beyond ASCII: the expression knows what it is.
    Beyond,
    End,
}

impl Kind {
    const fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower)
    }

    const fn is_space(self) -> bool {
        matches!(self, Self::Blank | Self::LineEnd)
    }
}

const fn kind(byte: u8) -> Kind {
    match byte {
        b'A'..=b'Z' => Kind::Upper,
        b'a'..=b'z' => Kind::Lower,
        b'0'..=b'9' => Kind::Digit,
        b'\n' | b'\r' => Kind::LineEnd,
        b' ' | b'\t' | 0x0B | 0x0C => Kind::Blank,
        0x80.. => Kind::Beyond,
        _ => Kind::Sign,
    }
}

fn kind_at(text: &[u8], at: usize) -> Kind {
    text.get(at).map_or(Kind::End, |byte| kind(*byte))
}

/// Where a run of such bytes ends that begins at `from`.
fn run(text: &[u8], from: usize, of: impl Fn(Kind) -> bool) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().position(|byte| !of(kind(*byte))).unwrap_or(rest.len())
}

/// An end that a character beyond ASCII could move is none.
fn settled(text: &[u8], end: usize) -> Option<usize> {
    (kind_at(text, end) != Kind::Beyond).then_some(end)
}

/// The length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in any case, zero for something else. `None` where a
/// character beyond ASCII might be one of these letters (`ſ` is an `s`).
fn contraction(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'\'') {
        return Some(0);
    }
    let lower = |nth: usize| text.get(at + nth).map(u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => Some(2),
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => Some(3),
        (Some(0x80..), _) | (Some(b'r' | b'v' | b'l'), Some(0x80..)) => None,
        _ => Some(0),
    }
}

impl SplitRules {
    /// The length of the first piece, where it can be told without the expression.
    fn first(self, text: &[u8]) -> Option<usize> {
        let [first, second] = [kind_at(text, 0), kind_at(text, 1)];
        match first {
            Kind::End | Kind::Beyond => None,
            Kind::Upper | Kind::Lower => self.word(text, 0),
            Kind::Digit => {
                let end = run(text, 0, |kind| kind == Kind::Digit);
                if end >= DIGITS { Some(DIGITS) } else { settled(text, end) }
            }
            Kind::Sign => {
                let length = if self == Self::Cl100k { contraction(text, 0)? } else { 0 };
                match length {
                    0 if second.is_letter() => self.word(text, 1),
                    0 => self.signs(text, 0),
                    _ => Some(length),
                }
            }
            Kind::Blank if second.is_letter() => self.word(text, 1),
            Kind::Blank if second == Kind::Sign && text.first() == Some(&b' ') => self.signs(text, 1),
            Kind::Blank | Kind::LineEnd => space(text),
        }
    }

    /// A word whose letters begin at `from`.
    fn word(self, text: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Cl100k => settled(text, run(text, from, Kind::is_letter)),
            Self::O200k => {
                let capitals = run(text, from, |kind| kind == Kind::Upper);
                let end = settled(text, run(text, capitals, |kind| kind == Kind::Lower))?;
                Some(end + contraction(text, end)?)
            }
        }
    }

    /// Signs from `from` on.
    fn signs(self, text: &[u8], from: usize) -> Option<usize> {
        let end = settled(text, run(text, from, |kind| kind == Kind::Sign))?;
        let rest = text.get(end..).unwrap_or_default();
        let ends = |byte: &u8| matches!(byte, b'\n' | b'\r') || (self == Self::O200k && *byte == b'/');
        Some(end + rest.iter().position(|byte| !ends(byte)).unwrap_or(rest.len()))
    }
}

/// White space: to its last line end, or all at the end of the text, or but the last, which belongs to what follows.
fn space(text: &[u8]) -> Option<usize> {
    let end = settled(text, run(text, 0, Kind::is_space))?;
    let run = text.get(..end).unwrap_or_default();
    if let Some(last) = run.iter().rposition(|byte| kind(*byte) == Kind::LineEnd) {
        return Some(last + 1);
    }
    Some(if end == text.len() || end == 1 { end } else { end - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpe::Vocabulary;
    use crate::bpe::tests::oracle;

    fn check(text: &str) {
        for vocabulary in [Vocabulary::O200k, Vocabulary::Cl100k] {
            let ours: Vec<&str> = vocabulary.pieces(text).collect();
            let theirs: Vec<&str> = oracle(vocabulary).split(text).collect();
            assert_eq!(ours, theirs, "{vocabulary:?} of {text:?}");
        }
    }

    /// What the rules tell apart, characters beyond ASCII that continue each of them, and letters of contractions.
    const ALPHABET: [&str; 32] = [
        "a", "s", "l", "E", "S", "T", "7", "0", " ", "  ", "\t", "\n", "\r", "\u{b}", "\u{1c}", "'", "'s", "'LL", "'r",
        "/", ".", "(\"", "_", "é", "É", "\u{301}", "ſ", "中", "\u{a0}", "\u{2028}", "٣", "—",
    ];

    #[test]
    fn every_short_text_has_the_pieces_of_its_tokenizer() {
        for length in 0..=3_u32 {
            for number in 0..ALPHABET.len().pow(length) {
                let nth = |place: u32| ALPHABET[number / ALPHABET.len().pow(place) % ALPHABET.len()];
                check(&(0..length).map(nth).collect::<String>());
            }
        }
    }

    #[test]
    fn long_texts_have_the_pieces_of_their_tokenizer() {
        // A fixed walk through the alphabet: the same texts in every run.
        let mut state = 0x2545_F491_4F6C_DD1D_u64;
        for _ in 0..2_000 {
            let text: String = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
                    // Mostly ASCII: the rules are what is in question.
                    let among = if state >> 60 == 0 { ALPHABET.len() } else { 23 };
                    ALPHABET[usize::try_from(state >> 33).unwrap_or(0) % among]
                })
                .collect();
            check(&text);
        }
    }

    #[test]
    fn texts_of_tools_have_the_pieces_of_their_tokenizer() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        for entry in std::fs::read_dir(folder).expect("the golden texts").flatten() {
            check(&std::fs::read_to_string(entry.path()).expect("a text"));
        }
    }

    #[test]
    fn ascii_never_needs_the_expression() {
        let text = "fn don't(HTTPServer: &'a str) -> u8 {\r\n\treturn 12345 / x[\"key\"];  // it's\n\n}\n  ";
        for rules in [SplitRules::O200k, SplitRules::Cl100k] {
            let mut rest = text;
            while !rest.is_empty() {
                let length = rules.first(rest.as_bytes()).unwrap_or_else(|| panic!("{rules:?} knows {rest:?}"));
                rest = &rest[length..];
            }
        }
    }
}
