//! How a core and a keeper prove to each other that they know the keeper's secret, without sending it.
//!
//! Each side answers the other's random challenge with an HMAC over both challenges, its role and its process id. The
//! other side uses the process id that the kernel reports for its peer, so relaying messages proves nothing. `key.rs`
//! says where the secret comes from.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a challenge, a proof and a secret.
pub(crate) const BYTES: usize = 32;

/// A random value that the other side must sign.
pub(crate) type Challenge = [u8; BYTES];

/// The secret that a keeper shares with the cores of its data directory. No `Debug`.
#[derive(Clone)]
pub(crate) struct KeeperSecret([u8; BYTES]);

/// Whose proof it is, so that the proof of one side is not valid for the other.
#[derive(Clone, Copy)]
pub(crate) enum PeerRole {
    /// The side that connects.
    Core,
    /// The side that owns the child.
    Keeper,
}

impl PeerRole {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Core => b"taskwarden core 1",
            Self::Keeper => b"taskwarden keeper 1",
        }
    }
}

/// Both challenges of one connection.
#[derive(Clone, Copy)]
pub(crate) struct Challenges {
    pub(crate) keeper: Challenge,
    pub(crate) core: Challenge,
}

impl KeeperSecret {
    pub(crate) const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads the hexadecimal text of an order.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// The hexadecimal text for an order.
    pub(crate) fn text(&self) -> String {
        to_hex(&self.0)
    }

    /// The proof of the side with this role and process id.
    pub(crate) fn prove(&self, role: PeerRole, process: u32, of: &Challenges) -> [u8; BYTES] {
        self.over(role, process, of).finalize().into_bytes().into()
    }

    /// Whether a proof is the one of that side; compared in constant time.
    pub(crate) fn accepts(&self, proof: &[u8], role: PeerRole, process: u32, of: &Challenges) -> bool {
        self.over(role, process, of).verify_slice(proof).is_ok()
    }

    fn over(&self, role: PeerRole, process: u32, of: &Challenges) -> Hmac<Sha256> {
        let mut mac = keyed(&self.0);
        mac.update(role.label());
        mac.update(&of.keeper);
        mac.update(&of.core);
        mac.update(&process.to_be_bytes());
        mac
    }
}

/// An HMAC under this key.
pub(crate) fn keyed(key: &[u8; BYTES]) -> Hmac<Sha256> {
    // HMAC fills a shorter key up with zeros to the block of its hash (RFC 2104 §2).
    let mut block = [0_u8; 64];
    if let Some(start) = block.first_chunk_mut::<BYTES>() {
        *start = *key;
    }
    Hmac::<Sha256>::new(&block.into())
}

/// A new challenge; `None` where the system gives no randomness.
pub(crate) fn challenge() -> Option<Challenge> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Lower-case hexadecimal text.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads what [`to_hex`] wrote of 32 bytes.
pub(crate) fn from_hex(text: &str) -> Option<[u8; BYTES]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0_u8; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_good_for_one_side_one_process_and_one_connection() {
        let secret = KeeperSecret::new([7; BYTES]);
        let here = Challenges { keeper: [1; BYTES], core: [2; BYTES] };
        let proof = secret.prove(PeerRole::Core, 40, &here);
        assert!(secret.accepts(&proof, PeerRole::Core, 40, &here), "whom it was made for");
        assert!(!secret.accepts(&proof, PeerRole::Keeper, 40, &here), "not sent back to its maker");
        assert!(!secret.accepts(&proof, PeerRole::Core, 41, &here), "not passed on by another process");
        let later = Challenges { keeper: [3; BYTES], ..here };
        assert!(!secret.accepts(&proof, PeerRole::Core, 40, &later), "not once more");
        assert!(!KeeperSecret::new([8; BYTES]).accepts(&proof, PeerRole::Core, 40, &here), "not at another keeper");
        assert!(!secret.accepts(&[], PeerRole::Core, 40, &here), "and nothing proves nothing");
    }

    #[test]
    fn a_secret_goes_through_an_order_and_nothing_else_is_one() {
        let secret = KeeperSecret::from_text(&KeeperSecret::new([0xa5; BYTES]).text()).expect("it reads");
        assert_eq!(secret.text(), "a5".repeat(BYTES));
        for wrong in ["", "a5", &"zz".repeat(BYTES), &"é".repeat(BYTES)] {
            assert!(KeeperSecret::from_text(wrong).is_none(), "`{wrong}` is no secret");
        }
    }
}
