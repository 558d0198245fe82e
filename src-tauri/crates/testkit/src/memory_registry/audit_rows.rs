//! Pages of the audit log in memory. Its rows have layout 1: they name no server and no agent of their own.

use domain::audit::Subject;
use domain::ids::HandleId;
use domain::ports::{AuditFilter, AuditLink, AuditOrder, AuditPage, AuditQuery, AuditRow, AuditRows};

use super::audit_chain::{subject, unhex};

fn task_of(subject: &Subject) -> Option<HandleId> {
    match subject {
        Subject::Handle(id) | Subject::Request(id, _) => Some(*id),
        Subject::Server(_) | Subject::Agent(_) | Subject::Store | Subject::Unknown(_) => None,
    }
}

/// The rows of one task (or all) after a number.
pub(super) fn page(log: &[AuditLink], handle: Option<HandleId>, after: u64, limit: usize) -> AuditPage {
    let asked = |link: &&AuditLink| {
        link.number > after && handle.is_none_or(|handle| task_of(&link.event.subject) == Some(handle))
    };
    let mut rows: Vec<_> = log.iter().filter(asked).take(limit + 1).cloned().collect();
    let more = rows.len() > limit;
    rows.truncate(limit);
    AuditPage { next_after: rows.last().filter(|_| more).map(|last| last.number), rows }
}

fn is_or_begins(word: &str, wanted: &str) -> bool {
    word == wanted || word.split_once(':').is_some_and(|(kind, _)| kind == wanted)
}

fn passes(filter: &AuditFilter, link: &AuditLink) -> bool {
    let AuditFilter { first, last, since, until, actor, verbs, subject: about, server, agent, task, text } = filter;
    let event = &link.event;
    first.is_none_or(|first| link.number >= first)
        && last.is_none_or(|last| link.number <= last)
        && since.is_none_or(|since| event.at >= since)
        && until.is_none_or(|until| event.at < until)
        && actor.as_ref().is_none_or(|actor| is_or_begins(&event.actor.to_string(), actor))
        && (verbs.is_empty() || verbs.iter().any(|verb| verb == event.verb.word()))
        && about.as_ref().is_none_or(|about| is_or_begins(&subject(&event.subject), about))
        && server.is_none()
        && agent.is_none()
        && task.is_none_or(|task| task_of(&event.subject) == Some(task))
        && text.as_ref().is_none_or(|text| event.note.to_ascii_lowercase().contains(&text.to_ascii_lowercase()))
}

fn hash(text: &str) -> [u8; 32] {
    unhex(text).try_into().unwrap_or_default()
}

fn stored(link: &AuditLink) -> AuditRow {
    AuditRow {
        number: link.number,
        layout: 1,
        at: link.event.at,
        actor: link.event.actor.to_string(),
        verb: link.event.verb.word().into(),
        subject: subject(&link.event.subject),
        server: String::new(),
        agent: String::new(),
        note: Some(link.event.note.clone()),
        origin: link.event.origin().map(ToString::to_string),
        detail: None,
        salt: None,
        commitment: None,
        previous: hash(&link.previous),
        hash: hash(&link.hash),
        fits: true,
    }
}

/// A page of rows by a filter.
pub(super) fn filtered(log: &[AuditLink], query: &AuditQuery, limit_max: u32) -> AuditRows {
    let behind = |link: &&AuditLink| match (query.order, query.behind) {
        (AuditOrder::NewestFirst, Some(behind)) => link.number < behind,
        (AuditOrder::OldestFirst, Some(behind)) => link.number > behind,
        (AuditOrder::NewestFirst | AuditOrder::OldestFirst, None) => true,
    };
    let mut found: Vec<&AuditLink> = log.iter().filter(behind).filter(|link| passes(&query.filter, link)).collect();
    if query.order == AuditOrder::NewestFirst {
        found.reverse();
    }
    let limit = usize::try_from(query.limit.clamp(1, limit_max)).unwrap_or(usize::MAX);
    let more = found.len() > limit;
    found.truncate(limit);
    AuditRows {
        next: found.last().filter(|_| more).map(|last| last.number),
        rows: found.into_iter().map(stored).collect(),
        first: log.first().map_or(0, |row| row.number),
        last: log.last().map_or(0, |row| row.number),
    }
}
