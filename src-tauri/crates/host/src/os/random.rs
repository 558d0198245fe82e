//! Random bits from the operating system, for ids and keys.
//!
//! Ids are drawn from a buffer, so that a call does not ask the system for each; keys never are.

use std::sync::Arc;

use engine::Draw;
use parking_lot::Mutex;

/// Bytes drawn from the system at a time: the ids of 256 calls. Judgement.
const BUFFER_BYTES: usize = 4_096;
/// Bytes of one id.
const ID_BYTES: usize = 16;

/// Fills with random bytes. Without randomness ids could be guessed, so the program aborts.
fn fill(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        tracing::error!(%error, "the system gives no random bits");
        std::process::abort();
    }
}

/// Random bytes of the system that were not given out yet. No process continues with a copy of them: children begin with
/// another program, because forking without that would need unsafe code.
struct RandomBuffer {
    bytes: Box<[u8; BUFFER_BYTES]>,
    /// How many of them are given out, and erased.
    used: usize,
}

impl RandomBuffer {
    fn new() -> Self {
        Self { bytes: Box::new([0; BUFFER_BYTES]), used: BUFFER_BYTES }
    }

    fn draw(&mut self) -> u128 {
        if let Some(bits) = self.take() {
            return bits;
        }
        fill(self.bytes.as_mut_slice());
        self.used = 0;
        // A whole buffer has room for many.
        self.take().unwrap_or_else(bits)
    }

    /// The next bits, erased here: what was given out cannot be read from memory later.
    fn take(&mut self) -> Option<u128> {
        let next = self.bytes.get_mut(self.used..)?.first_chunk_mut::<ID_BYTES>()?;
        let bits = u128::from_le_bytes(*next);
        next.fill(0);
        self.used += ID_BYTES;
        Some(bits)
    }
}

/// 16 random bytes as a number, straight from the system.
fn bits() -> u128 {
    let mut bytes = [0_u8; ID_BYTES];
    fill(&mut bytes);
    u128::from_le_bytes(bytes)
}

/// The source of random ids.
pub(crate) fn draw() -> Draw {
    let buffer = Mutex::new(RandomBuffer::new());
    Arc::new(move || buffer.lock().draw())
}

/// A new 256-bit key.
pub(crate) fn key() -> [u8; 32] {
    let mut key = [0_u8; 32];
    fill(&mut key);
    key
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::*;

    #[test]
    fn ids_drawn_from_many_threads_never_repeat() {
        let draw = draw();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let draw = Arc::clone(&draw);
                thread::spawn(move || (0..5_000).map(|_| draw()).collect::<Vec<_>>())
            })
            .collect();
        let drawn: HashSet<u128> = threads.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect();
        assert_eq!(drawn.len(), 20_000, "each is new");
    }

    #[test]
    fn what_was_given_out_is_erased() {
        let mut buffer = RandomBuffer::new();
        let first = buffer.draw();
        assert_ne!(first, 0);
        assert_eq!(buffer.bytes.first_chunk::<ID_BYTES>(), Some(&[0; ID_BYTES]), "nobody finds it here");
    }
}
