//! How many tokens pictures and sounds have, by the rules that providers document.
//!
//! | family | rule |
//! |---|---|
//! | Claude 3 to 4.6 | width x height / 750, scaled to 1,568 pixels and 1,600 tokens at most (Claude docs, *Vision*) |
//! | Claude 4.7 and later | the same, 2,576 pixels and 4,784 tokens at most (Claude docs, *Vision*) |
//! | GPT | 85 and 170 for each tile of 512, fitted into 2,048 and then 768 (OpenAI docs, *Images and vision*) |
//! | Gemini | 258 up to 384 pixels, else for each tile of 768 (Gemini API docs, *Understand and count tokens*) |
//! | Llama | 144 for each tile of 336, 16 tiles and a whole at most (Llama 4 model code, vision encoder) |
//!
//! A picture of unknown size has the cap of its rule, `AtMost`. Sounds: 32 tokens a second (Gemini), 10 (OpenAI), at
//! the slowest bit rate that is in use unless a header says the real one. Sizes are read by `media/headers.rs`.

pub(crate) mod headers;

use std::borrow::Cow;
use std::fmt;

use domain::tokens::{Count, Exactness, Family};

use crate::bpe::wide;
use headers::Size;

/// Something that is not text, as base64.
#[derive(PartialEq, Eq)]
pub(crate) enum Medium<'a> {
    Image(Cow<'a, str>),
    Audio(Cow<'a, str>),
    /// Any other bytes.
    Bytes(Cow<'a, str>),
}

impl fmt::Debug for Medium<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, base64) = match self {
            Self::Image(base64) => ("Image", base64),
            Self::Audio(base64) => ("Audio", base64),
            Self::Bytes(base64) => ("Bytes", base64),
        };
        write!(f, "{kind}({} bytes)", base64.len())
    }
}

/// Bytes a second of the slowest speech that is in use: 8 kbit/s.
const SLOWEST_SOUND: u64 = 1_000;

/// The tokens of a medium in a family.
pub(crate) fn count_part(family: Family, medium: &Medium<'_>) -> Count {
    match medium {
        Medium::Image(base64) => match headers::size(base64) {
            Some(size) => Count { tokens: image(family, size), exactness: Exactness::About },
            None => Count { tokens: cap(family), exactness: Exactness::AtMost },
        },
        Medium::Audio(base64) => {
            let bytes = wide(base64.len()) / 4 * 3;
            let (rate, exactness) = match headers::sound_rate(base64) {
                Some(rate) => (rate, Exactness::About),
                None => (SLOWEST_SOUND, Exactness::AtMost),
            };
            let seconds = bytes.div_ceil(rate.max(1));
            Count { tokens: seconds.saturating_mul(audio(family)).min(wide(base64.len())), exactness }
        }
        Medium::Bytes(base64) => Count { tokens: wide(base64.len()).div_ceil(4), exactness: Exactness::AtMost },
    }
}

/// Tokens of a second of sound. Families whose makers document no sound are taken at the highest.
const fn audio(family: Family) -> u64 {
    match family {
        Family::O200k | Family::Cl100k => 10,
        Family::Claude3 | Family::Claude47 | Family::Gemini | Family::Llama | Family::Unknown => 32,
    }
}

/// Tokens of a picture of the least lucky size.
const fn cap(family: Family) -> u64 {
    match family {
        Family::O200k | Family::Cl100k => 1_445,
        Family::Claude3 => 1_600,
        Family::Claude47 | Family::Unknown => 4_784,
        Family::Gemini => 258 * GEMINI_TILES,
        Family::Llama => 144 * 17,
    }
}

/// Tiles that are taken at most of a picture for Gemini. Judgement: the docs name no end; 3 x 4 tiles of the largest
/// kind.
const GEMINI_TILES: u64 = 12;

fn image(family: Family, size: Size) -> u64 {
    match family {
        Family::O200k | Family::Cl100k => openai(size),
        Family::Claude3 => claude(size, 1_568, 1_600),
        Family::Claude47 => claude(size, 2_576, 4_784),
        Family::Gemini => gemini(size),
        Family::Llama => llama(size),
        Family::Unknown => {
            [claude(size, 2_576, 4_784), openai(size), gemini(size), llama(size)].into_iter().fold(0, u64::max)
        }
    }
}

fn claude(size: Size, edge: u64, most: u64) -> u64 {
    let size = size.within(edge);
    (size.width * size.height).div_ceil(750).clamp(1, most)
}

fn openai(size: Size) -> u64 {
    let size = size.within(2_048).short_within(768);
    85 + 170 * size.width.div_ceil(512) * size.height.div_ceil(512)
}

fn gemini(size: Size) -> u64 {
    if size.width <= 384 && size.height <= 384 {
        return 258;
    }
    // The side of a tile follows the short side of the picture, between 256 and 768 pixels.
    let unit = (size.width.min(size.height) * 2 / 3).clamp(256, 768);
    258 * (size.width.div_ceil(unit) * size.height.div_ceil(unit)).clamp(1, GEMINI_TILES)
}

fn llama(size: Size) -> u64 {
    let tiles = (size.width.div_ceil(336) * size.height.div_ceil(336)).clamp(1, 16);
    144 * if tiles > 1 { tiles + 1 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_weigh_what_the_providers_examples_say() {
        let of = |width, height| Size { width, height };
        assert_eq!(image(Family::Claude3, of(1_000, 1_000)), 1_334, "the example of Claude's docs");
        assert_eq!(image(Family::Claude3, of(200, 200)), 54, "the example of Claude's docs");
        assert_eq!(image(Family::O200k, of(1_024, 1_024)), 765, "the example of OpenAI's docs");
        assert_eq!(image(Family::O200k, of(2_048, 4_096)), 1_105, "the example of OpenAI's docs");
        assert_eq!(image(Family::Gemini, of(384, 384)), 258, "the example of Gemini's docs");
        assert_eq!(image(Family::Gemini, of(960, 540)), 6 * 258, "the example of Gemini's docs");
    }

    #[test]
    fn no_picture_is_above_the_cap_of_its_rule_and_unknown_is_below_none() {
        let sides = [1, 17, 384, 385, 767, 1_024, 2_047, 4_096, 65_535, u64::from(u32::MAX)];
        for (width, height) in sides.into_iter().flat_map(|width| sides.map(|height| (width, height))) {
            let size = Size { width, height };
            for family in Family::ALL {
                let tokens = image(family, size);
                assert!(tokens >= 1 && tokens <= cap(family), "{family:?} {width}x{height}: {tokens}");
                assert!(tokens <= image(Family::Unknown, size), "{family:?} {width}x{height} is above unknown");
            }
        }
    }

    #[test]
    fn what_no_rule_knows_is_an_upper_bound() {
        let odd = Medium::Image("AAAA".into());
        assert_eq!(count_part(Family::Claude3, &odd), Count { tokens: 1_600, exactness: Exactness::AtMost });
        let bytes = Medium::Bytes("AAAAAAAA".into());
        assert_eq!(count_part(Family::O200k, &bytes), Count { tokens: 2, exactness: Exactness::AtMost });
        let sound = Medium::Audio("AAAA".repeat(1_000).into());
        assert_eq!(count_part(Family::Gemini, &sound), Count { tokens: 96, exactness: Exactness::AtMost });
    }
}
