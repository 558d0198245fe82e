//! The error codes of JSON-RPC and MCP (protocol.md §2.1), each once.

/// The text is not JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// The message is not a request, or not one that is allowed now.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
/// The receiver does not have this method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
/// The params do not fit; for the methods of tasks, also an unknown task id.
pub(crate) const INVALID_PARAMS: i64 = -32_602;
/// A failure or a limit of the sender; there is no better code for "too many".
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// The first of the codes that each implementation may use as it likes.
pub(crate) const SERVER_ERROR: i64 = -32_000;
/// A mirrored header contradicts the body, or is missing (2026-07-28).
pub(crate) const HEADER_MISMATCH: i64 = -32_020;
/// The client must declare a capability (2026-07-28).
pub(crate) const MISSING_CAPABILITY: i64 = -32_021;
/// The protocol version is not spoken (2026-07-28).
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;
