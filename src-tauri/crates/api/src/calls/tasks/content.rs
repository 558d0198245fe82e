//! Payloads for people: their parts with previews, pieces of large ones, and raw messages.
//!
//! A whole payload, byte for byte, is `tasks.result`. How a payload is split into parts is `format/content_parts.rs`.

use domain::ids::HandleId;
use domain::task::payload::{Payload, PayloadKind};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::OneTask;
use crate::dto::{ContentDto, PieceDto, RawDto, RawListDto};
use crate::error::{ApiError, Code};
use crate::format::content_parts::{self, ContentPart};

/// Which payload of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum PayloadChoice {
    /// What it left.
    Result,
    /// With what it was called.
    Arguments,
    /// The error it ended with.
    Error,
}

/// Which payload, or a raw message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum PieceSource {
    /// What it left.
    Result,
    /// With what it was called.
    Arguments,
    /// The error it ended with.
    Error,
    /// A raw message; `part` is its number.
    Raw,
}

/// A payload to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowContent {
    pub id: String,
    #[ts(inline)]
    pub of: PayloadChoice,
}

/// A piece to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadPiece {
    pub id: String,
    #[ts(inline)]
    pub of: PieceSource,
    /// Which part; null is the payload as it was on the wire.
    pub part: Option<u64>,
    /// From which byte; `next` of the piece before.
    pub offset: u64,
    /// Bytes at most.
    pub limit: u64,
}

impl Api {
    /// The parts of a payload.
    ///
    /// # Errors
    /// When there is no such task or payload.
    pub async fn task_content(&self, _caller: &Caller, input: ShowContent) -> Result<ContentDto, ApiError> {
        let id = self.find_id(&input.id).await?;
        let (payload, parts) = self.content_parts(id, input.of).await?;
        let is_error = match input.of {
            PayloadChoice::Error => true,
            PayloadChoice::Arguments => false,
            PayloadChoice::Result => self.task_show_id(id).await?.result.is_some_and(|result| result.is_error),
        };
        Ok(ContentDto { bytes: payload.bytes(), is_error, parts: parts.into_iter().map(|part| part.shown).collect() })
    }

    /// A piece of a payload, of one of its parts, or of a raw message.
    ///
    /// # Errors
    /// When there is no such thing, or it is too large a picture or sound.
    pub async fn task_piece(&self, _caller: &Caller, input: ReadPiece) -> Result<PieceDto, ApiError> {
        let id = self.find_id(&input.id).await?;
        let of = match input.of {
            PieceSource::Result => PayloadChoice::Result,
            PieceSource::Arguments => PayloadChoice::Arguments,
            PieceSource::Error => PayloadChoice::Error,
            PieceSource::Raw => {
                let raw = match input.part {
                    Some(n) => self.registry.raw(id, n).await?,
                    None => None,
                };
                let raw = raw.ok_or_else(|| missing(id, "raw message of this number"))?;
                return Ok(self.piece(raw.as_str(), &input));
            }
        };
        let Some(n) = input.part else {
            let payload = self.payload_of(id, of).await?;
            return Ok(self.piece(payload.as_str(), &input));
        };
        let (_, parts) = self.content_parts(id, of).await?;
        let part = usize::try_from(n).ok().and_then(|n| parts.get(n)).ok_or_else(|| missing(id, "such part"))?;
        match &part.text {
            Some(text) => Ok(self.piece(text, &input)),
            None => Err(ApiError::new(
                Code::Refused,
                format!("this part has {} bytes, too many to show here", part.shown.bytes),
                "`taskwarden tasks result ID --json` gives all of it.",
            )),
        }
    }

    /// The raw messages that are kept of a task.
    ///
    /// # Errors
    /// When there is no such task.
    pub async fn task_raw(&self, _caller: &Caller, input: OneTask) -> Result<RawListDto, ApiError> {
        let id = self.find_task(&input.id).await?.id;
        let notes = self.registry.raw_list(id).await?;
        Ok(RawListDto { messages: notes.into_iter().map(RawDto::from).collect() })
    }

    async fn content_parts(&self, id: HandleId, of: PayloadChoice) -> Result<(Payload, Vec<ContentPart>), ApiError> {
        let payload = self.payload_of(id, of).await?;
        let parts = match of {
            PayloadChoice::Result => content_parts::of_result(payload.as_str(), &self.policy),
            PayloadChoice::Arguments | PayloadChoice::Error => content_parts::of_json(payload.as_str(), &self.policy),
        };
        Ok((payload, parts))
    }

    async fn payload_of(&self, id: HandleId, of: PayloadChoice) -> Result<Payload, ApiError> {
        let (kind, what) = match of {
            PayloadChoice::Result => (PayloadKind::Result, "stored result"),
            PayloadChoice::Arguments => (PayloadKind::Arguments, "stored arguments"),
            PayloadChoice::Error => (PayloadKind::Error, "stored error"),
        };
        self.registry.payload(id, kind).await?.ok_or_else(|| missing(id, what))
    }

    fn piece(&self, text: &str, input: &ReadPiece) -> PieceDto {
        let most = u64::try_from(self.policy.asking.piece_bytes_max).unwrap_or(u64::MAX);
        let start = text.floor_char_boundary(usize::try_from(input.offset).unwrap_or(usize::MAX));
        // At least one whole character, so that reading always comes to an end.
        let wanted = usize::try_from(input.limit.clamp(1, most)).unwrap_or(usize::MAX);
        let first = text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let end = text.floor_char_boundary(start.saturating_add(wanted.max(first)));
        let place = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
        PieceDto {
            text: text.get(start..end).unwrap_or_default().to_owned(),
            next: (end < text.len()).then(|| place(end)),
            bytes: place(text.len()),
        }
    }
}

fn missing(id: HandleId, what: &str) -> ApiError {
    ApiError::new(
        Code::NotFound,
        format!("task `{id}` has no {what}"),
        format!(
            "`taskwarden tasks show {id}` shows what is known of it; `taskwarden storage` shows how long contents are kept."
        ),
    )
}
