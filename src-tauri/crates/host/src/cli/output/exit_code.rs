//! Exit codes of commands that are not errors (product.md); an error carries its own in `api::Code`.

use api::ApiError;

/// An exit code, or an error that has its own.
pub(crate) type CommandResult = Result<u8, ApiError>;

pub(crate) const DONE: u8 = 0;
/// The task failed, was cancelled or is gone.
pub(crate) const FAILED: u8 = 1;
/// A person pressed Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;
