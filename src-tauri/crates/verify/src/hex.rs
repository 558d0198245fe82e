//! Bytes as lower-case hexadecimal text, and back.

const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// The bytes as lower-case text.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

/// The bytes of a text; `None` when it is not pairs of lower-case digits, so that each value has one text.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|pair| byte_of(*pair)).collect()
}

fn byte_of(pair: [u8; 2]) -> Option<u8> {
    let [high, low] = pair;
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

/// A hash of 32 bytes from its text.
#[must_use]
pub fn decode_hash(text: &str) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let (pairs, _) = digits.as_chunks::<2>();
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(pairs) {
        *byte = byte_of(*pair)?;
    }
    Some(hash)
}
