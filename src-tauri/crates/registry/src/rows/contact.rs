//! `Contact`, `Delivery` and `Intent` as JSON: what we know of reaching a task, and what people want of it.
//!
//! Reasons that people gave are in here; they stand in sealed columns only.

use domain::task::decider::Decider;
use domain::ids::PersonId;
use domain::task::status::{CancelRequest, Contact, Delivery, GoneWhy, Intent, Miss, Needs};
use serde_json::{Value, json};

use super::view::{read_rpc_error, rpc_error};
use super::{Fields, Flaw, Read, maybe_time, time};

fn miss(miss: &Miss) -> Value {
    match miss {
        Miss::Unreachable(why) => json!({ "is": "unreachable", "why": why }),
        Miss::UnknownTask => json!({ "is": "unknownTask" }),
        Miss::Unreadable { path, why } => json!({ "is": "unreadable", "path": path, "why": why }),
        Miss::Refused(error) => json!({ "is": "refused", "error": rpc_error(error) }),
    }
}

fn read_miss(fields: Fields<'_>) -> Read<Miss> {
    match fields.text("is")? {
        "unreachable" => Ok(Miss::Unreachable(fields.text("why")?.into())),
        "unknownTask" => Ok(Miss::UnknownTask),
        "unreadable" => Ok(Miss::Unreadable { path: fields.text("path")?.into(), why: fields.text("why")?.into() }),
        "refused" => fields.inner("error", read_rpc_error).map(Miss::Refused),
        other => Err(Flaw::word("is", other)),
    }
}

fn gone(why: &GoneWhy) -> Value {
    match why {
        GoneWhy::Unknown => json!({ "is": "unknown" }),
        GoneWhy::Expired => json!({ "is": "expired" }),
        GoneWhy::ProcessEnded(known) => json!({ "is": "processEnded", "known": known }),
        GoneWhy::Replaced => json!({ "is": "replaced" }),
        GoneWhy::ServerRemoved => json!({ "is": "serverRemoved" }),
    }
}

fn read_gone(fields: Fields<'_>) -> Read<GoneWhy> {
    match fields.text("is")? {
        "unknown" => Ok(GoneWhy::Unknown),
        "expired" => Ok(GoneWhy::Expired),
        "processEnded" => Ok(GoneWhy::ProcessEnded(fields.text("known")?.into())),
        "replaced" => Ok(GoneWhy::Replaced),
        "serverRemoved" => Ok(GoneWhy::ServerRemoved),
        other => Err(Flaw::word("is", other)),
    }
}

fn needs(needs: &Needs) -> Value {
    match needs {
        Needs::SignIn(hint) => json!({ "is": "signIn", "hint": hint }),
        Needs::Upgrade(name) => json!({ "is": "upgrade", "name": name }),
    }
}

fn read_needs(fields: Fields<'_>) -> Read<Needs> {
    match fields.text("is")? {
        "signIn" => Ok(Needs::SignIn(fields.text("hint")?.into())),
        "upgrade" => Ok(Needs::Upgrade(fields.text("name")?.into())),
        other => Err(Flaw::word("is", other)),
    }
}

/// Writes what we know of reaching a task.
pub(crate) fn contact(contact: &Contact) -> Value {
    match contact {
        Contact::Fresh { seen } => json!({ "is": "fresh", "seen": time(*seen) }),
        Contact::Silent { since, failures, last } => {
            json!({ "is": "silent", "since": time(*since), "failures": failures, "last": miss(last) })
        }
        Contact::Gone { at, seen, why } => {
            json!({ "is": "gone", "at": time(*at), "seen": time(*seen), "why": gone(why) })
        }
        Contact::Blocked { since, needs: wanted } => {
            json!({ "is": "blocked", "since": time(*since), "needs": needs(wanted) })
        }
    }
}

/// Reads what we know of reaching a task.
pub(crate) fn read_contact(fields: Fields<'_>) -> Read<Contact> {
    match fields.text("is")? {
        "fresh" => Ok(Contact::Fresh { seen: fields.time("seen")? }),
        "silent" => Ok(Contact::Silent {
            since: fields.time("since")?,
            failures: fields.u32("failures")?,
            last: fields.inner("last", read_miss)?,
        }),
        "gone" => Ok(Contact::Gone {
            at: fields.time("at")?,
            seen: fields.time("seen")?,
            why: fields.inner("why", read_gone)?,
        }),
        "blocked" => Ok(Contact::Blocked { since: fields.time("since")?, needs: fields.inner("needs", read_needs)? }),
        other => Err(Flaw::word("is", other)),
    }
}

/// Writes how far something got on its way to the server.
pub(crate) fn delivery(delivery: &Delivery) -> Value {
    match delivery {
        Delivery::Recorded => json!({ "is": "recorded" }),
        Delivery::Sent { at, attempts } => json!({ "is": "sent", "at": time(*at), "attempts": attempts }),
        Delivery::Acknowledged { at } => json!({ "is": "acknowledged", "at": time(*at) }),
        Delivery::Refused { at, why } => json!({ "is": "refused", "at": time(*at), "why": why }),
    }
}

/// Reads how far something got on its way to the server.
pub(crate) fn read_delivery(fields: Fields<'_>) -> Read<Delivery> {
    match fields.text("is")? {
        "recorded" => Ok(Delivery::Recorded),
        "sent" => Ok(Delivery::Sent { at: fields.time("at")?, attempts: fields.u32("attempts")? }),
        "acknowledged" => Ok(Delivery::Acknowledged { at: fields.time("at")? }),
        "refused" => Ok(Delivery::Refused { at: fields.time("at")?, why: fields.text("why")?.into() }),
        other => Err(Flaw::word("is", other)),
    }
}

fn wish(word: &str, wish: &CancelRequest) -> Value {
    let CancelRequest { by, at, reason, delivery: way, sent } = wish;
    let (at, sent) = (time(*at), maybe_time(*sent));
    json!({ "is": word, "by": by.to_string(), "at": at, "reason": reason, "delivery": delivery(way), "sent": sent })
}

fn read_wish(fields: Fields<'_>) -> Read<CancelRequest> {
    Ok(CancelRequest {
        by: Decider::from_text(fields.text("by")?),
        at: fields.time("at")?,
        reason: fields.maybe_text("reason")?.map(Into::into),
        delivery: fields.inner("delivery", read_delivery)?,
        sent: fields.maybe_time("sent")?,
    })
}

/// Writes what people want.
pub(crate) fn intent(intent: &Intent) -> Value {
    match intent {
        Intent::None => json!({ "is": "none" }),
        Intent::Cancel(stop) => wish("cancel", stop),
        Intent::Revoked(stop) => wish("revoked", stop),
        Intent::Unwatched { by, at } => json!({ "is": "unwatched", "by": by.as_str(), "at": time(*at) }),
    }
}

/// Reads what people want.
pub(crate) fn read_intent(fields: Fields<'_>) -> Read<Intent> {
    match fields.text("is")? {
        "none" => Ok(Intent::None),
        "cancel" => read_wish(fields).map(Intent::Cancel),
        "revoked" => read_wish(fields).map(Intent::Revoked),
        "unwatched" => Ok(Intent::Unwatched { by: PersonId::new(fields.text("by")?), at: fields.time("at")? }),
        other => Err(Flaw::word("is", other)),
    }
}
