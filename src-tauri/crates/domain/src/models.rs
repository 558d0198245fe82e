//! Models by name: tokenizer family and size of the window, each with its source.
//!
//! A table for defaults: whoever runs an agent can set both (`crate::window::Meter`). Sizes are those that the maker
//! documents for the model without paid extensions.

use std::time::Duration;

use crate::tokens::{Family, family_of_client};
use crate::window::Meter;

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Its name, as makers write it in their interfaces; a name with more behind it is the same model.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// Tokens of its window.
    pub window: u64,
    /// Where the size stands.
    pub source: &'static str,
}

/// How the size of a window is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeFrom {
    /// A person set it.
    Set,
    /// From the model that a person set.
    Model,
    /// From the client's name: what its maker ships by default.
    Client,
}

/// How an agent's tokens are counted, resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// The family.
    pub family: Family,
    /// The size of the window and how it is known; `None` when nothing says it.
    pub window: Option<(u64, SizeFrom)>,
}

/// A judgement of how long a name in the table is believed: models come and go. Shown beside the source.
pub const REVIEWED_EVERY: Duration = Duration::from_secs(90 * 24 * 3_600);

/// The table. The first line whose name begins the asked one counts, so longer names stand first.
pub const MODELS: &[Model] = &[];

/// The model of this name.
#[must_use]
pub fn model(name: &str) -> Option<&'static Model> {
    let name = name.to_ascii_lowercase();
    MODELS.iter().find(|model| name.starts_with(model.name))
}

/// The size of window that a family's current models have by default.
fn usual_window(family: Family) -> Option<u64> {
    MODELS.iter().find(|model| model.family == family).map(|model| model.window)
}

/// How an agent is measured: by what a person set, else by its client's name, else most cautiously.
#[must_use]
pub fn measure(meter: &Meter, client: Option<&str>) -> Measure {
    let set = meter.model.as_deref().and_then(model);
    let by_client = client.and_then(family_of_client);
    let family = meter.family.or(set.map(|model| model.family)).or(by_client).unwrap_or(Family::Unknown);
    let window = (meter.window.map(|size| (size, SizeFrom::Set)))
        .or(set.map(|model| (model.window, SizeFrom::Model)))
        .or_else(|| by_client.and_then(usual_window).map(|size| (size, SizeFrom::Client)));
    Measure { family, window }
}
