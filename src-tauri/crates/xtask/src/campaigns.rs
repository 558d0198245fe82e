//! Long runs that a developer starts by hand: measurements, kills and failures, real agent programs, conformance.
//!
//! CI plays samples of some of them; none decides here whether a figure is good.

pub(crate) mod agents;
pub(crate) mod bench;
pub(crate) mod conformance;
mod json;
pub(crate) mod torture;
