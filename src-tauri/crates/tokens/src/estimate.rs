//! Estimates for families whose tokenizer is not public, or too large to bring: the pieces of o200k, weighted by class.
//!
//! Each class of pieces has three factors for each family: for a piece, for a token of o200k, and for a byte. They are
//! fitted once, when the code is written, to true counts (decision 0014); `tests/calibration.rs` holds them to the
//! stated error on texts that they have not seen. Nothing is learned at run time.

use domain::ports::with_error;

use crate::piece_classes::{CLASSES, Features};

/// The factors of a family.
#[derive(Debug)]
pub(crate) struct Factors {
    /// Per class: tokens for a piece, for a token of o200k, for a byte.
    pub(crate) classes: [[f32; 3]; CLASSES],
    /// The largest error seen on the golden texts, in percent of the true count, rounded up.
    pub(crate) error_percent: u8,
}

impl Factors {
    /// The estimate: always rounded up.
    pub(crate) fn tokens(&self, features: &Features) -> u64 {
        let mut sum = 0.0_f64;
        for (class, of) in features.present() {
            let Some([piece, token, byte]) = self.classes.get(class).copied() else { continue };
            let [pieces, tokens, bytes] = of.map(|amount| amount as f64);
            sum += pieces * f64::from(piece) + tokens * f64::from(token) + bytes * f64::from(byte);
        }
        // Whole and positive: a sum of products of sizes. The cast ends at the largest number.
        sum.ceil() as u64
    }

    /// The estimate with its error on top: what limits are held against.
    pub(crate) fn tokens_at_most(&self, features: &Features) -> u64 {
        with_error(self.tokens(features), self.error_percent)
    }
}
