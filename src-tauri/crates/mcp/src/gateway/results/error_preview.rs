//! The preview that stands for an error that is too large: its code, how its message begins, and where the whole is.
//!
//! It follows from the stored error and the hold alone, as a result's does (`preview.rs`). Nobody reads an error in
//! pages: what is left out a person sees with the task.

use domain::ports::MessagePart;
use domain::task::{HoldReason, ResultForm, TaskHandle};
use domain::tokens::Count;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::conversion::raw_json;
use crate::gateway::model_text::held;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::{cutting, hold_limit};
use crate::server::rpc_error::RequestError;
use crate::wire::raw_json::{member, text_member};

/// The error as its agent gets it.
///
/// # Errors
/// When Taskwarden is stopping.
pub(crate) async fn of(
    context: &RequestContext,
    handle: &TaskHandle,
    whole: Box<RawValue>,
) -> Result<Box<RawValue>, RequestError> {
    let (numbers, why) = (&context.state.policy.counting, hold_limit::reason(handle));
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
            // The other half of what is allowed is for the words after it.
            allowed.min(numbers.slice_tokens) / 2
        }
        Some(ResultForm::Trimmed { tokens }) => tokens,
    };
    let family = cutting::family(context, handle);
    let counted = why.tokens();
    let error = whole.clone();
    let cut = cutting::run(&context.state, handle.id, move |scale| {
        let message = text_member(error.get(), "message").unwrap_or_default();
        // A cut is one character at least.
        let upto = if most > 0 { scale.cut(family, &message, most).bytes } else { 0 };
        let tokens = counted.unwrap_or_else(|| scale.count_part(family, MessagePart::Error(error.get())).cautious());
        (message.get(..upto).unwrap_or_default().to_owned(), tokens)
    });
    let (begins, tokens) = cut.await?;
    let size = Count { tokens, exactness: handle.result_exactness(family) }.told(family);
    let message = held::short_error(&begins, &size, why, &handle.id.to_string());
    let code: Value = member(whole.get(), "code").and_then(|code| serde_json::from_str(code).ok()).unwrap_or_default();
    raw_json::serialize(&json!({"code": code, "message": message}))
}
