//! The sizes of pictures and the rates of sounds, from the first bytes of their base64.
//!
//! Reads PNG, GIF, WebP, JPEG and WAV headers; a byte is decoded when it is asked for, so a picture of ten megabytes
//! costs as much as a small one. It decodes no picture and trusts none: a size of nothing is no size.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u64,
    pub(crate) height: u64,
}

impl Size {
    /// Scaled down so that the long side is at most this.
    pub(crate) fn within(self, edge: u64) -> Self {
        self.scaled(edge, self.width.max(self.height))
    }

    /// Scaled down so that the short side is at most this.
    pub(crate) fn short_within(self, edge: u64) -> Self {
        self.scaled(edge, self.width.min(self.height))
    }

    fn scaled(self, to: u64, from: u64) -> Self {
        if from <= to {
            return self;
        }
        let side = |side: u64| (side.saturating_mul(to) / from).max(1);
        Self { width: side(self.width), height: side(self.height) }
    }
}

/// Segments of a JPEG that are stepped over on the way to its size. Judgement: real ones have ten.
const SEGMENTS_MAX: usize = 200;

/// The size of a picture; `None` when it is of no kind that is read here.
pub(crate) fn size(base64: &str) -> Option<Size> {
    let bytes = Bytes(base64.as_bytes());
    let size = if bytes.begin(0, b"\x89PNG\r\n\x1a\n") {
        Size { width: bytes.big(16, 4)?, height: bytes.big(20, 4)? }
    } else if bytes.begin(0, b"GIF8") {
        Size { width: bytes.little(6, 2)?, height: bytes.little(8, 2)? }
    } else if bytes.begin(0, b"RIFF") && bytes.begin(8, b"WEBP") {
        webp(bytes)?
    } else if bytes.begin(0, b"\xff\xd8") {
        jpeg(bytes)?
    } else {
        return None;
    };
    (size.width > 0 && size.height > 0).then_some(size)
}

/// Bytes a second of a WAV sound; `None` for other kinds.
pub(crate) fn sound_rate(base64: &str) -> Option<u64> {
    let bytes = Bytes(base64.as_bytes());
    let known = bytes.begin(0, b"RIFF") && bytes.begin(8, b"WAVE") && bytes.begin(12, b"fmt ");
    if known { bytes.little(28, 4).filter(|rate| *rate > 0) } else { None }
}

fn webp(bytes: Bytes<'_>) -> Option<Size> {
    if bytes.begin(12, b"VP8X") {
        return Some(Size { width: bytes.little(24, 3)? + 1, height: bytes.little(27, 3)? + 1 });
    }
    if bytes.begin(12, b"VP8L") {
        let bits = bytes.little(21, 4)?;
        return Some(Size { width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1 });
    }
    let known = bytes.begin(12, b"VP8 ") && bytes.begin(23, b"\x9d\x01\x2a");
    known.then(|| Some(Size { width: bytes.little(26, 2)? & 0x3fff, height: bytes.little(28, 2)? & 0x3fff }))?
}

fn jpeg(bytes: Bytes<'_>) -> Option<Size> {
    let mut at = 2;
    for _ in 0..SEGMENTS_MAX {
        if bytes.at(at)? != 0xff {
            return None;
        }
        match bytes.at(at + 1)? {
            // Fill bytes, and markers that stand alone.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc4 | 0xc8 | 0xcc => at += 2 + length(bytes, at)?,
            0xc0..=0xcf => return Some(Size { height: bytes.big(at + 5, 2)?, width: bytes.big(at + 7, 2)? }),
            0xd9 | 0xda => return None,
            _ => at += 2 + length(bytes, at)?,
        }
    }
    None
}

/// The length of a JPEG segment, itself included.
fn length(bytes: Bytes<'_>, at: usize) -> Option<usize> {
    usize::try_from(bytes.big(at + 2, 2)?).ok().filter(|length| *length >= 2)
}

/// Base64 text that is read byte by byte.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn at(self, index: usize) -> Option<u8> {
        let group = index.checked_div(3)?.checked_mul(4)?;
        let sextet = |offset: usize| value(*self.0.get(group + offset)?);
        Some(match index % 3 {
            0 => sextet(0)? << 2 | sextet(1)? >> 4,
            1 => sextet(1)? << 4 | sextet(2)? >> 2,
            _ => sextet(2)? << 6 | sextet(3)?,
        })
    }

    fn begin(self, at: usize, expected: &[u8]) -> bool {
        expected.iter().enumerate().all(|(offset, byte)| self.at(at + offset) == Some(*byte))
    }

    fn big(self, at: usize, length: usize) -> Option<u64> {
        (at..at + length).try_fold(0, |sum, index| Some(sum << 8 | u64::from(self.at(index)?)))
    }

    fn little(self, at: usize, length: usize) -> Option<u64> {
        (at..at + length).rev().try_fold(0, |sum, index| Some(sum << 8 | u64::from(self.at(index)?)))
    }
}

/// The six bits of a character, of either alphabet.
const fn value(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for group in bytes.chunks(3) {
            let bits = group.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
            for position in 0..4 {
                let sextet = (bits >> (18 - 6 * position) & 63) as usize;
                text.push(if position <= group.len() { char::from(ALPHABET[sextet]) } else { '=' });
            }
        }
        text
    }

    #[test]
    fn sizes_are_read_from_the_headers_of_four_formats() {
        let size = |width, height| Some(Size { width, height });
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 4, 0, 0, 0, 3, 0], &[8; 40]].concat();
        assert_eq!(super::size(&encoded(&png)), size(1_024, 768), "PNG");
        assert_eq!(super::size(&encoded(b"GIF89a\x40\x01\xf0\x00\x00")), size(320, 240), "GIF");
        let exif = [&[0xff, 0xe1, 0x40, 0x00][..], &vec![7; 0x3ffe]].concat();
        let frame = [0xff, 0xc0, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3];
        assert_eq!(super::size(&encoded(&[&[0xff, 0xd8], &exif[..], &frame].concat())), size(800, 600), "JPEG");
        let extended = [b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".as_slice(), &[0xff, 0x03, 0, 0xff, 0x01, 0]].concat();
        assert_eq!(super::size(&encoded(&extended)), size(1_024, 512), "WebP, extended");
        let lossless = [b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".as_slice(), &(99_u32 | 49 << 14).to_le_bytes()].concat();
        assert_eq!(super::size(&encoded(&lossless)), size(100, 50), "WebP, lossless");
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x02\xe0\x01";
        assert_eq!(super::size(&encoded(lossy)), size(640, 480), "WebP, lossy");
    }

    #[test]
    fn what_is_cut_short_or_made_up_has_no_size() {
        for odd in ["", "iVBORw0KGgo", "/9j/", "not base64 at all!", "AAAAAAAAAAAA"] {
            assert_eq!(size(odd), None, "`{odd}`");
        }
        let endless = [&[0xff, 0xd8][..], &[0xff, 0xe0, 0, 2].repeat(10_000)].concat();
        assert_eq!(size(&encoded(&endless)), None, "segments are bounded");
        let zero = [&[0xff, 0xd8][..], &[0xff, 0xe0, 0, 0].repeat(10)].concat();
        assert_eq!(size(&encoded(&zero)), None, "a segment without its own length");
    }

    #[test]
    fn the_rate_of_a_sound_is_in_its_header() {
        let mut wav = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0".to_vec();
        wav.extend(32_000_u32.to_le_bytes());
        assert_eq!(sound_rate(&encoded(&wav)), Some(32_000));
        assert_eq!(sound_rate("AAAA"), None);
    }
}
