//! Cuts the secret values that we gave a server out of what it writes to its standard error or logs.
//!
//! A server that prints its environment must not publish them. It prints a value of several lines line by line, and may
//! colour a part of it. Nothing helps against a server that writes them in another way on purpose.

use std::sync::Arc;

use domain::policy::without_terminal_sequences;
use domain::ports::Secret;

/// Shorter values are common words; cutting them out would garble the text and hide nothing.
const SECRET_BYTES_MIN: usize = 4;

/// Stands for a secret value.
const CUT: &str = "…";

/// Values, and the lines of those that have several, the longest first: one may be a part of another.
#[derive(Clone)]
pub(crate) struct SecretValues(Arc<[Secret]>);

impl SecretValues {
    pub(crate) fn new(values: Vec<Secret>) -> Self {
        let lines = values.iter().flat_map(|value| value.reveal().lines().map(str::trim));
        let lines: Vec<Secret> = lines.map(|line| Secret::new(line.to_owned())).collect();
        let mut all: Vec<Secret> = values.into_iter().chain(lines).collect();
        all.retain(|value| value.reveal().len() >= SECRET_BYTES_MIN);
        all.sort_by(|one, other| {
            let (one, other) = (one.reveal(), other.reveal());
            other.len().cmp(&one.len()).then_with(|| one.cmp(other))
        });
        all.dedup_by(|one, other| one.reveal() == other.reveal());
        Self(all.into())
    }

    /// The length of the longest value in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.0.first().map_or(0, |value| value.reveal().len())
    }

    /// Where a value begins that the end of the text cuts off; the end where none does.
    pub(crate) fn cut_off_at(&self, text: &str) -> usize {
        let begins = |value: &Secret| {
            let value = value.reveal();
            let ends = |length: &usize| value.get(..*length).is_some_and(|begin| text.ends_with(begin));
            (1..value.len()).rev().find(ends).unwrap_or_default()
        };
        text.len().saturating_sub(self.0.iter().map(begins).max().unwrap_or_default())
    }

    /// The text without them, and without sequences for terminals, which could stand inside one.
    pub(crate) fn cut_out(&self, text: &str) -> String {
        self.replaced(without_terminal_sequences(&self.replaced(text.to_owned())))
    }

    fn replaced(&self, mut text: String) -> String {
        for value in self.0.iter().map(Secret::reveal) {
            if text.contains(value) {
                text = text.replace(value, CUT);
            }
        }
        text
    }
}
