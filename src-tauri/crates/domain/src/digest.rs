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
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_in_lower_case_with_leading_zeros() {
        assert_eq!(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
