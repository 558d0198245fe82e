//! `Contact`, `Delivery` and `Intent`: what we know of reaching a task, and what people want of it.
//!
//! Reasons that people gave are in here, so these are parts of sealed columns only.

use domain::ids::PersonId;
use domain::server::ServerAct;
use domain::task::decider::Decider;
use domain::task::status::{CancelRequest, Contact, Delivery, GoneWhy, Intent, Miss, Needs, RpcError};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::form::{As, ErrorField, HintField, In, KnownField, Maybe, NameField, WhyField};
use super::primitive::{Millis, Plain, Text};
use super::server_view::RpcErrorDef;

#[derive(Serialize, Deserialize)]
#[serde(remote = "Miss", tag = "is", rename_all = "camelCase")]
enum MissDef {
    Unreachable(#[serde(with = "In::<WhyField, Plain<String>>")] String),
    UnknownTask,
    Unreadable { path: String, why: String },
    Refused(#[serde(with = "In::<ErrorField, RpcErrorDef>")] RpcError),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "GoneWhy", tag = "is", rename_all = "camelCase")]
enum GoneWhyDef {
    Unknown,
    Expired,
    ProcessEnded(#[serde(with = "In::<KnownField, Plain<String>>")] String),
    OutOfReach(#[serde(with = "In::<WhyField, Plain<String>>")] String),
    EndedByPerson {
        #[serde(with = "As::<Text<PersonId>>")]
        by: PersonId,
        #[serde(with = "ServerActDef")]
        act: ServerAct,
    },
    Replaced,
    ServerRemoved,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ServerAct", rename_all = "camelCase")]
enum ServerActDef {
    Restart,
    End,
    Change,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Needs", tag = "is", rename_all = "camelCase")]
enum NeedsDef {
    SignIn(#[serde(with = "In::<HintField, Plain<String>>")] String),
    Upgrade(#[serde(with = "In::<NameField, Plain<String>>")] String),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Contact", tag = "is", rename_all = "camelCase")]
pub(crate) enum ContactDef {
    Fresh {
        #[serde(with = "As::<Millis>")]
        seen: Timestamp,
    },
    Silent {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        failures: u32,
        #[serde(with = "MissDef")]
        last: Miss,
    },
    Gone {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        #[serde(with = "As::<Millis>")]
        seen: Timestamp,
        #[serde(with = "GoneWhyDef")]
        why: GoneWhy,
    },
    Blocked {
        #[serde(with = "As::<Millis>")]
        since: Timestamp,
        #[serde(with = "NeedsDef")]
        needs: Needs,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Delivery", tag = "is", rename_all = "camelCase")]
pub(crate) enum DeliveryDef {
    Recorded,
    Sent {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        attempts: u32,
    },
    Acknowledged {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
    },
    Refused {
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CancelRequest")]
struct WishDef {
    #[serde(with = "As::<Text<Decider>>")]
    by: Decider,
    #[serde(with = "As::<Millis>")]
    at: Timestamp,
    reason: Option<String>,
    #[serde(with = "DeliveryDef")]
    delivery: Delivery,
    #[serde(default, with = "As::<Maybe<Millis>>")]
    sent: Option<Timestamp>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Intent", tag = "is", rename_all = "camelCase")]
pub(crate) enum IntentDef {
    None,
    Cancel(#[serde(with = "WishDef")] CancelRequest),
    Revoked(#[serde(with = "WishDef")] CancelRequest),
    Unwatched {
        #[serde(with = "As::<Text<PersonId>>")]
        by: PersonId,
        #[serde(with = "As::<Millis>")]
        at: Timestamp,
    },
}
