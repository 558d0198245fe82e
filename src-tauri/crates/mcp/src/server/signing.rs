//! Signs what a client keeps for us: session names and positions in streams (decision 0024).
//!
//! They outlive the core, so nothing is stored for a client that may never return. They are signed and not encrypted,
//! because their content came from that client. A position is valid for one session, a session for one agent.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a signature: HMAC-SHA-256 cut to 128 bits, as RFC 2104 §5 allows.
const SIGNATURE_BYTES: usize = 16;

/// The key of one installation, for everything that its faces sign.
#[derive(Clone)]
pub struct SigningKey([u8; 64]);

impl SigningKey {
    /// Takes 32 random bytes that no other purpose uses.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        let mut block = [0; 64];
        block.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Self(block)
    }

    /// Signs `text`. It is read again only for the same purpose and owner.
    pub(crate) fn sign(&self, purpose: &str, owner: &str, text: &[u8]) -> String {
        let full = self.over(purpose, owner, text).finalize().into_bytes();
        let mut signed = full.get(..SIGNATURE_BYTES).unwrap_or_default().to_vec();
        signed.extend_from_slice(text);
        URL_SAFE_NO_PAD.encode(signed)
    }

    /// The text that was signed for this purpose and owner; `None` when it was not, or is no longer whole.
    pub(crate) fn open(&self, purpose: &str, owner: &str, signed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(signed).ok()?;
        let (signature, text) = bytes.split_at_checked(SIGNATURE_BYTES)?;
        self.over(purpose, owner, text).verify_truncated_left(signature).ok()?;
        Some(text.to_vec())
    }

    fn over(&self, purpose: &str, owner: &str, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.0.into());
        for part in [purpose.as_bytes(), owner.as_bytes(), text] {
            mac.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            mac.update(part);
        }
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_signed_opens_for_its_purpose_and_owner_and_with_its_key_only() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signed = key.sign("session", "ann", b"facts");
        assert_eq!(key.open("session", "ann", &signed).as_deref(), Some(b"facts".as_slice()));
        assert_eq!(key.open("place", "ann", &signed), None, "another purpose");
        assert_eq!(key.open("session", "bob", &signed), None, "another owner");
        assert_eq!(SigningKey::from_bytes(&[8; 32]).open("session", "ann", &signed), None, "another key");
        for at in 0..signed.len() {
            let (before, after) = signed.split_at(at);
            assert_eq!(key.open("session", "ann", before), None, "cut at {at}");
            let other = if after.starts_with('A') { "B" } else { "A" };
            let bent = format!("{before}{other}{}", after.get(1..).unwrap_or_default());
            assert_ne!(key.open("session", "ann", &bent).as_deref(), Some(b"other".as_slice()), "bent at {at}");
        }
    }
}
