//! Random bits from the operating system, for ids and keys.

use std::sync::Arc;

use engine::Draw;

/// 16 random bytes as a number. Without randomness ids could be guessed, so the program aborts.
fn bits() -> u128 {
    let mut bytes = [0_u8; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "the system gives no random bits");
        std::process::abort();
    }
    u128::from_le_bytes(bytes)
}

/// The source of random ids.
pub(crate) fn draw() -> Draw {
    Arc::new(bits)
}

/// A new 256-bit key.
pub(crate) fn key() -> [u8; 32] {
    let mut key = [0_u8; 32];
    let (left, right) = key.split_at_mut(16);
    left.copy_from_slice(&bits().to_le_bytes());
    right.copy_from_slice(&bits().to_le_bytes());
    key
}
