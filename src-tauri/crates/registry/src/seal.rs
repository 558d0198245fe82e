//! Sealing of single fields with AES-256-GCM (ruling 9), and the keyed hash that finds a sealed value again.
//!
//! Each field is bound to its place (table, column and row), so that a value moved elsewhere does not open. Layout 2 binds
//! the version of the row as well, so that an older value of the same field does not open; layout 1 has no version, and
//! values of tasks that have it are sealed anew (`sqlite/write/reseal.rs`). Whoever can write the file can still put back a whole row with its version. The layout is one byte, a random nonce of 96 bits,
//! then the ciphertext with its tag; at 2^32 fields under one key the chance of a repeated nonce is still below 2^-32 (NIST
//! SP 800-38D §8.3). Keys come from the host; which fields are sealed is decided in `sqlite/`.

use std::fmt;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes256Gcm, Nonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

/// A field that is bound to its place alone.
const OF_PLACE: u8 = 1;
/// A field that is bound to its place and to the version of its row.
const OF_VERSION: u8 = 2;
/// Bytes of the nonce: 96 bits, the size for which GCM is defined without hashing.
const NONCE_BYTES: usize = 12;

/// The key of one registry: 32 bytes, wiped when dropped, redacted in `Debug`.
#[derive(Clone)]
pub struct SealKey(Zeroizing<[u8; 32]>);

impl SealKey {
    /// Takes 32 random bytes.
    #[must_use]
    pub fn from_bytes(mut bytes: [u8; 32]) -> Self {
        let key = Self(Zeroizing::new(bytes));
        bytes.zeroize();
        key
    }

    /// A key of its own for something outside of the registry. `purpose` is used for nothing else.
    #[must_use]
    pub fn derive(&self, purpose: &str) -> Zeroizing<[u8; 32]> {
        let mut mac = keyed(&self.0);
        mac.update(b"taskwarden ");
        mac.update(purpose.as_bytes());
        Zeroizing::new(mac.finalize().into_bytes().into())
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
}

/// A field that could not be sealed or opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SealError {
    /// The system gave no randomness.
    #[error("the system gave no random bytes")]
    NoRandomness,
    /// The bytes are not a sealed field, were made with another key, or stand at another place.
    #[error("a sealed field does not open")]
    DoesNotOpen,
}

/// Where a sealed field is stored; authenticated with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldLocation<'a> {
    pub(crate) table: &'static str,
    pub(crate) column: &'static str,
    /// The row's own name: ids joined by a character that no id contains.
    pub(crate) row: &'a str,
}

impl FieldLocation<'_> {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.table.len() + self.column.len() + self.row.len() + 2);
        bytes.extend_from_slice(self.table.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.column.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(self.row.as_bytes());
        bytes
    }
}

/// What is authenticated of a field in a version of its row.
fn versioned(place: FieldLocation<'_>, version: u64) -> Vec<u8> {
    let mut bytes = place.bytes();
    bytes.push(0);
    bytes.extend_from_slice(&version.to_be_bytes());
    bytes
}

/// HMAC under a key of 32 bytes, padded to the block size as the standard does itself.
fn keyed(key: &[u8; 32]) -> Hmac<Sha256> {
    let mut block = [0_u8; 64];
    block.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    let mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    block.zeroize();
    mac
}

/// Seals, opens and marks. Two keys are derived from the one, so that marks say nothing about seals.
pub(crate) struct Sealer {
    cipher: Aes256Gcm,
    marker: Hmac<Sha256>,
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Sealer {
    /// Derives both keys.
    pub(crate) fn new(key: &SealKey) -> Self {
        let derive = |purpose: &[u8]| -> Zeroizing<[u8; 32]> {
            let mut mac = keyed(&key.0);
            mac.update(purpose);
            Zeroizing::new(mac.finalize().into_bytes().into())
        };
        let seal = derive(b"taskwarden registry seal 1");
        let mark = derive(b"taskwarden registry mark 1");
        Self { cipher: Aes256Gcm::new(&(*seal).into()), marker: keyed(&mark) }
    }

    /// Seals a field for its place.
    pub(crate) fn seal(&self, place: FieldLocation<'_>, plain: &[u8]) -> Result<Vec<u8>, SealError> {
        self.sealed(OF_PLACE, &place.bytes(), plain)
    }

    /// Seals a field for its place in this version of its row.
    pub(crate) fn seal_version(
        &self,
        place: FieldLocation<'_>,
        version: u64,
        plain: &[u8],
    ) -> Result<Vec<u8>, SealError> {
        self.sealed(OF_VERSION, &versioned(place, version), plain)
    }

    fn sealed(&self, layout: u8, aad: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0_u8; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        let cipher = self
            .cipher
            .encrypt(&Nonce::from(nonce), Payload { msg: plain, aad })
            .map_err(|_| SealError::DoesNotOpen)?;
        let mut sealed = Vec::with_capacity(1 + NONCE_BYTES + cipher.len());
        sealed.push(layout);
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(&cipher);
        Ok(sealed)
    }

    /// Opens a field at its place.
    pub(crate) fn open(&self, place: FieldLocation<'_>, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        self.opened(OF_PLACE, &place.bytes(), sealed)
    }

    /// Opens a field at its place in this version of its row.
    pub(crate) fn open_version(
        &self,
        place: FieldLocation<'_>,
        version: u64,
        sealed: &[u8],
    ) -> Result<Vec<u8>, SealError> {
        self.opened(OF_VERSION, &versioned(place, version), sealed)
    }

    fn opened(&self, wanted: u8, aad: &[u8], sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (layout, rest) = sealed.split_first().ok_or(SealError::DoesNotOpen)?;
        let (nonce, cipher) = rest.split_at_checked(NONCE_BYTES).ok_or(SealError::DoesNotOpen)?;
        let nonce: [u8; NONCE_BYTES] = nonce.try_into().map_err(|_| SealError::DoesNotOpen)?;
        if *layout != wanted {
            return Err(SealError::DoesNotOpen);
        }
        self.cipher.decrypt(&Nonce::from(nonce), Payload { msg: cipher, aad }).map_err(|_| SealError::DoesNotOpen)
    }

    /// A keyed hash of some parts: equal parts, equal marks; without the key it says nothing about them.
    pub(crate) fn mark(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.marker.clone();
        for part in parts {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(row: &str) -> FieldLocation<'_> {
        FieldLocation { table: "payloads", column: "sealed", row }
    }

    #[test]
    fn a_sealed_field_opens_only_at_its_place_and_with_its_key() {
        let sealer = Sealer::new(&SealKey::from_bytes([7; 32]));
        let sealed = sealer.seal(place("a"), b"an answer").expect("seals");
        assert_eq!(sealer.open(place("a"), &sealed).as_deref(), Ok(b"an answer".as_slice()));
        assert_eq!(sealer.open(place("b"), &sealed), Err(SealError::DoesNotOpen), "moved to another row");
        let other = Sealer::new(&SealKey::from_bytes([8; 32]));
        assert_eq!(other.open(place("a"), &sealed), Err(SealError::DoesNotOpen), "another key");
    }

    #[test]
    fn an_older_value_of_the_same_field_does_not_open() {
        let sealer = Sealer::new(&SealKey::from_bytes([7; 32]));
        let old = sealer.seal_version(place("a"), 1, b"open").expect("seals");
        assert_eq!(sealer.open_version(place("a"), 1, &old).as_deref(), Ok(b"open".as_slice()));
        assert_eq!(sealer.open_version(place("a"), 2, &old), Err(SealError::DoesNotOpen), "put back later");
        assert_eq!(sealer.open(place("a"), &old), Err(SealError::DoesNotOpen), "nor without its version");
        let before = sealer.seal(place("a"), b"from before").expect("seals");
        assert_eq!(
            sealer.open_version(place("a"), 9, &before),
            Err(SealError::DoesNotOpen),
            "nor one without a version"
        );
    }

    #[test]
    fn damaged_or_short_bytes_are_refused_without_a_panic() {
        let sealer = Sealer::new(&SealKey::from_bytes([7; 32]));
        let sealed = sealer.seal(place("a"), b"x").expect("seals");
        for length in 0..sealed.len() {
            assert!(sealer.open(place("a"), &sealed[..length]).is_err(), "cut to {length} bytes");
        }
        for index in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[index] ^= 1;
            assert!(sealer.open(place("a"), &bent).is_err(), "bit flipped in byte {index}");
        }
    }

    #[test]
    fn the_same_field_is_sealed_differently_each_time_and_marked_the_same() {
        let sealer = Sealer::new(&SealKey::from_bytes([7; 32]));
        assert_ne!(sealer.seal(place("a"), b"x"), sealer.seal(place("a"), b"x"), "nonces differ");
        assert_eq!(sealer.mark(&[b"a", b"bc"]), sealer.mark(&[b"a", b"bc"]));
        assert_ne!(sealer.mark(&[b"a", b"bc"]), sealer.mark(&[b"ab", b"c"]), "parts are delimited");
    }

    #[test]
    fn keys_are_not_shown() {
        assert_eq!(format!("{:?}", SealKey::from_bytes([7; 32])), "SealKey(…)");
    }
}
