//! Random identities, and jitter from a cheap sequence.
//!
//! Jitter needs no secrecy, so a poll never asks the operating system for entropy. Identities come from the draw that
//! the host gives (`engine.rs`).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::Draw;

/// Draws identities and jitter.
pub(crate) struct Random {
    draw: Draw,
    state: AtomicU64,
}

impl Random {
    /// Seeds the sequence of jitter from one draw.
    pub(crate) fn new(draw: Draw) -> Self {
        let seed = u64::try_from(draw() & u128::from(u64::MAX)).unwrap_or(1);
        Self { draw, state: AtomicU64::new(seed) }
    }

    /// 128 random bits for an identity.
    pub(crate) fn bits(&self) -> u128 {
        (self.draw)()
    }

    /// A number from 0 up to, not including, 1. `SplitMix64`, the top 53 bits.
    pub(crate) fn fraction(&self) -> f64 {
        let state = self.state.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::Relaxed);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}
