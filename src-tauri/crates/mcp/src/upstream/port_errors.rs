//! Failures of a link, as errors of the ports.
//!
//! The distinction that matters is whether anything ran: only then is a call not `NotSent`.

use domain::policy::Policy;
use domain::ports::{CallError, UpstreamError};

use crate::upstream::transport::OpenError;
use crate::upstream::transport::link::LinkError;

/// For everything but calls.
pub(crate) fn upstream_error(failed: LinkError, policy: &Policy) -> UpstreamError {
    match failed {
        LinkError::Broken { why, hint, sent: _ } => UpstreamError::Unreachable { why, hint },
        LinkError::NoAnswer(limit) => UpstreamError::Unreachable {
            why: format!("the server did not answer within {} s", limit.as_secs()),
            hint: "Taskwarden asks again automatically. If this continues, check whether the server is busy or hangs."
                .into(),
        },
        LinkError::GivenUp => UpstreamError::GivenUp,
        LinkError::RateLimited(after) => {
            UpstreamError::RateLimited { after: after.map(|after| after.min(policy.retry_after_ceiling)) }
        }
        LinkError::Unauthorized { why, hint } => UpstreamError::Unauthorized { why, hint },
        LinkError::Unreadable { why, raw } => UpstreamError::Unreadable { path: "$".into(), why, raw: Some(raw) },
    }
}

/// For calls: an answer that turns the call away at the door means that nothing ran.
pub(crate) fn call_error(failed: LinkError, policy: &Policy) -> CallError {
    let nothing_ran = match &failed {
        LinkError::Broken { sent, .. } => !sent,
        LinkError::RateLimited(_) | LinkError::Unauthorized { .. } => true,
        LinkError::NoAnswer(_) | LinkError::GivenUp | LinkError::Unreadable { .. } => false,
    };
    let error = upstream_error(failed, policy);
    if nothing_ran { CallError::NotSent(error) } else { CallError::ReplyLost(error) }
}

/// Nothing was opened.
pub(crate) fn open_error(failed: OpenError) -> UpstreamError {
    match failed {
        OpenError::Unauthorized { why, hint } => UpstreamError::Unauthorized { why, hint },
        OpenError::Unreachable { why, hint }
        | OpenError::NotMcp { why, hint }
        | OpenError::Exited { why, hint, .. }
        | OpenError::NotFound { why, hint } => UpstreamError::Unreachable { why, hint },
    }
}

/// Something on our side is no JSON object; nothing left the machine.
pub(crate) fn not_json(_: crate::wire::dialect::NotJson) -> UpstreamError {
    UpstreamError::Unsupported("take what is not a JSON object")
}
