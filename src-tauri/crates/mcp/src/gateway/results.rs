//! How a call ended, in the form that its agent gets: whole, cut to a size, or a preview with pages.
//!
//! Which form that is was decided before (`domain::task::ResultForm`); a stored result is never changed.

pub(crate) mod cutting;
pub(crate) mod earlier_call;
pub(crate) mod error_preview;
pub(crate) mod hold_limit;
pub(crate) mod outcome;
pub(crate) mod pages;
pub(crate) mod preview;
