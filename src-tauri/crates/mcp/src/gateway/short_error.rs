//! The short error that stands for one that is too large: its code, how its message begins, and where the whole is.
//!
//! It follows from the stored error and the hold alone, as a short result does (`short.rs`). Nobody reads an error in
//! slices: what is left out a person sees with the task. What counts as too large is the engine's matter.

use domain::task::{HoldReason, ResultForm, TaskHandle};
use domain::ports::MessagePart;
use domain::tokens::Count;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::guest::Guest;
use super::model_text::held;
use super::{Gate, scale, service, short};
use crate::wire::raw_json::{member, text_member};
use crate::server::rpc_error::RequestError;

/// The error as its agent gets it.
///
/// # Errors
/// When Taskwarden is stopping.
pub(super) async fn of(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    whole: Box<RawValue>,
) -> Result<Box<RawValue>, RequestError> {
    let (numbers, why) = (&gate.policy.counting, short::why(handle));
    let most = match handle.form() {
        Some(ResultForm::Whole) | None => return Ok(whole),
        Some(ResultForm::Slices) => {
            let allowed = match why {
                HoldReason::TooLarge { limit, .. } => limit,
                // A full window still takes what is as short as this.
                HoldReason::DoesNotFit { free, .. } => free.max(numbers.short_tokens),
                HoldReason::WouldBeCut { shown, .. } => shown,
                HoldReason::Review => numbers.slice_tokens,
            };
            // The rest of what is allowed is for the words after it.
            allowed.min(numbers.slice_tokens) / 2
        }
        Some(ResultForm::Trimmed { tokens }) => tokens,
    };
    let family = scale::family(gate, guest, handle);
    let counted = why.tokens();
    let error = whole.clone();
    let cut = scale::beside(gate, handle.id, move |scale| {
        let message = text_member(error.get(), "message").unwrap_or_default();
        // A cut is a character at least.
        let upto = if most > 0 { scale.cut(family, &message, most).bytes } else { 0 };
        let tokens = counted.unwrap_or_else(|| scale.count_part(family, MessagePart::Error(error.get())).cautious());
        (message.get(..upto).unwrap_or_default().to_owned(), tokens)
    });
    let (begins, tokens) = cut.await?;
    let size = Count { tokens, exactness: handle.result_exactness(family) }.told(family);
    let message = held::short_error(&begins, &size, why, &handle.id.to_string());
    let code: Value = member(whole.get(), "code").and_then(|code| serde_json::from_str(code).ok()).unwrap_or_default();
    service::result(&json!({"code": code, "message": message}))
}
