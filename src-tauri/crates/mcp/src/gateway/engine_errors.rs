//! Errors for an agent when the engine, the registry or a connection failed.
//!
//! Never the words of a server's process or of the registry: those are for people. The sentences are `model_text/`.

use domain::policy::Policy;
use domain::ports::{RegistryError, UpstreamError};
use engine::EngineError;
use serde_json::value::RawValue;

use crate::gateway::model_text::{access, ended, refused};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::upstream::transport::link::LinkError;
use crate::upstream::upstream_error;
use crate::wire::raw_json::member;

pub(crate) use crate::wire::error_codes::{INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR};

/// The code of a raw error.
pub(crate) fn code(error: &RawValue) -> Option<i64> {
    member(error.get(), "code")?.parse().ok()
}

pub(crate) fn fault(error: &EngineError) -> RequestError {
    let failed = |words: &str| RequestError::new(RequestErrorKind::OfTool(SERVER_ERROR), words);
    let decided = |words: String| RequestError::new(RequestErrorKind::Decided, words);
    match error {
        EngineError::UnknownServer => RequestError::params(access::unknown_server()),
        EngineError::UnknownAgent => RequestError::revoked(access::revoked(None, None)),
        EngineError::TooManyConnections { most } => decided(refused::too_many_connections(*most)),
        EngineError::UnknownHandle => RequestError::unknown_task(),
        EngineError::NotConnected { waits_for_person: true, .. } => failed(refused::waits_for_person()),
        EngineError::NotConnected { waits_for_person: false, .. } => failed(refused::not_connected()),
        EngineError::Arguments(error) => RequestError::params(error.to_string()),
        EngineError::Refused(refusal) => RequestError::params(refusal.to_string()),
        EngineError::OverShare { most } => decided(refused::over_share(*most)),
        EngineError::TooManyOpenCalls { most } => decided(refused::over_budget(*most)),
        EngineError::Upstream(error) => upstream(error),
        EngineError::ReplyLost(UpstreamError::Unreadable { .. }) => failed(&ended::reply_unreadable()),
        EngineError::ReplyLost(_) => failed(&ended::reply_lost()),
        EngineError::Registry(error) => unreadable(error),
        EngineError::CannotRecord(fault) => failed(&refused::cannot_record(*fault)),
        EngineError::OverQuota(quota) => decided(refused::over_quota(*quota)),
        EngineError::Halted(halted) => decided(refused::halted(halted)),
        EngineError::TooManyWaiting { most } => decided(refused::too_many_waiting(*most)),
        EngineError::Frozen(halted) => RequestError::params(refused::frozen(halted)),
        EngineError::Cancelled => decided(refused::cancelled_unrecorded().to_owned()),
        // Of what people decide alone.
        EngineError::NoStandingAnswer(_)
        | EngineError::TooManyStandingAnswers { .. }
        | EngineError::UnknownStandingAnswer
        | EngineError::NoProcess(_)
        | EngineError::NotHalted
        | EngineError::UnknownPlan
        | EngineError::UnknownAlarm
        | EngineError::ControlNameTaken(_)
        | EngineError::TooManyControlTokens(_)
        | EngineError::UnknownControlToken
        | EngineError::ControlLimit(_)
        | EngineError::PlanRefused(_)
        | EngineError::StageRefused(_)
        | EngineError::NotSigned(_)
        | EngineError::LogBroken { .. }
        | EngineError::NoAnchor(_)
        | EngineError::NoEpoch { .. }
        | EngineError::Sink(_)
        | EngineError::SignIn(_)
        | EngineError::Pause(_)
        | EngineError::Alarm(_)
        | EngineError::ArgumentsNotKept
        | EngineError::AnswerNotKept => RequestError::params(error.to_string()),
        EngineError::Stopping => failed(refused::stopping()),
    }
}

fn upstream(error: &UpstreamError) -> RequestError {
    let failed = |words: &str| RequestError::new(RequestErrorKind::OfTool(SERVER_ERROR), words);
    match error {
        UpstreamError::Refused(error) => RequestError::new(RequestErrorKind::OfTool(error.code), error.message.clone()),
        UpstreamError::RateLimited { after } => failed(&refused::rate_limited(*after)),
        UpstreamError::Unauthorized { .. } => failed(refused::needs_sign_in()),
        UpstreamError::MissingCapability(_) => failed(refused::needs_capability()),
        UpstreamError::Unsupported(what) => failed(&refused::unsupported(what)),
        UpstreamError::Unreachable { .. } | UpstreamError::GivenUp | UpstreamError::ChannelGone => {
            failed(refused::unreachable())
        }
        UpstreamError::UnknownTask => RequestError::unknown_task(),
        UpstreamError::Unreadable { .. } => failed(refused::unreadable()),
    }
}

/// The registry could not; the details are for people.
pub(crate) fn unreadable(error: &RegistryError) -> RequestError {
    tracing::warn!(%error, "the registry could not serve an agent");
    RequestError::new(RequestErrorKind::Internal, refused::no_registry())
}

pub(crate) fn unreached(policy: &Policy, failed: LinkError) -> RequestError {
    fault(&EngineError::Upstream(upstream_error(failed, policy)))
}
