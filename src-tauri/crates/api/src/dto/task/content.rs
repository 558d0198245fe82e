//! A payload as the window shows it: its parts with previews, and pieces of a large one.
//!
//! Carries content, so nothing here has `Debug`. `format/content_parts.rs` splits payloads, `calls/tasks/content.rs` reads
//! them.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::dto::words::words;

words! {
    /// What a part of a payload is.
    PartKind {
        Text = "text",
        Image = "image",
        Audio = "audio",
        /// An embedded resource.
        Resource = "resource",
        /// A link to a resource.
        ResourceLink = "resourceLink",
        /// The structured content of a result.
        Structured = "structured",
        /// Any other JSON.
        Json = "json",
        /// A content block of an unknown type.
        Unknown = "unknown",
    }
}

/// What a payload consists of.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ContentDto {
    /// Size of the whole payload.
    pub bytes: u64,
    /// Whether it is or reports an error.
    pub is_error: bool,
    /// Its parts, in the server's order.
    pub parts: Vec<PartDto>,
}

/// A part of a payload. Has no `Debug`: it carries content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PartDto {
    /// Its number, from 0.
    pub n: u32,
    /// What it is.
    #[ts(inline)]
    pub kind: PartKind,
    /// Its type, as the server says.
    pub mime: Option<String>,
    /// Its size: of pictures and sounds decoded, else of the text that `tasks.piece` gives.
    pub bytes: u64,
    /// The beginning of its text; of pictures and sounds the whole base64, unless they are too large.
    pub preview: String,
    /// Whether the preview is not all of it.
    pub cut: bool,
    /// The name the server gives it.
    pub name: Option<String>,
    /// The title for people.
    pub title: Option<String>,
    /// Where it can be found.
    pub uri: Option<String>,
    /// What the server says about it.
    pub description: Option<String>,
}

/// A piece of a large text. Has no `Debug`: it carries content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct PieceDto {
    /// The text, from a whole character to a whole character.
    pub text: String,
    /// Where the next piece begins; null at the end.
    pub next: Option<u64>,
    /// Size of the whole text.
    pub bytes: u64,
}
