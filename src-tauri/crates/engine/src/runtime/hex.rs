//! Bytes as lower-case hex digits.
//!
//! What the bytes mean is the caller's.

pub(crate) fn hex<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
