//! Questions in memory: open ones by age, answered ones by when they were answered.

use std::cmp::Reverse;
use std::sync::Arc;

use domain::ids::{HandleId, RequestKey};
use domain::ports::{InboxItem, InboxPage};
use domain::task::decider::Decider;
use domain::task::input_request::{InputRequest, RequestState};

use super::store::{MemoryStore, StoredTask};

pub(super) fn open(state: &MemoryStore, offset: u64, limit: u32) -> InboxPage {
    let mut open = Vec::new();
    for (id, row) in state.rows.iter().filter(|(_, row)| row.phase.asks_people()) {
        let stored = row.stored();
        let asked = stored.requests.iter().filter(|(_, request)| stored.asks_people(request, stored.changed));
        open.extend(asked.map(|(key, request)| ((request.opened, *id, key.clone()), row, request)));
    }
    page(open, offset, limit)
}

pub(super) fn answered(state: &MemoryStore, by: Option<&Decider>, offset: u64, limit: u32) -> InboxPage {
    let mut found = Vec::new();
    for (id, row) in &state.rows {
        for (key, request) in row.stored().requests.iter() {
            let (RequestState::Answered(answer) | RequestState::Confirmed(answer)) = &request.state else { continue };
            if by.is_none_or(|by| *by == answer.by) {
                found.push(((Reverse(answer.at), *id, key.clone()), row, request));
            }
        }
    }
    page(found, offset, limit)
}

type Found<'a, T> = ((T, HandleId, RequestKey), &'a StoredTask, &'a InputRequest);

fn page<T: Ord>(mut found: Vec<Found<'_, T>>, offset: u64, limit: u32) -> InboxPage {
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    let total = found.len() as u64;
    let (skip, take) = (usize::try_from(offset).unwrap_or(usize::MAX), usize::try_from(limit).unwrap_or(usize::MAX));
    let item = |(_, row, request): Found<'_, T>| InboxItem { handle: Arc::new(row.handle()), request: request.clone() };
    InboxPage { items: found.into_iter().skip(skip).take(take).map(item).collect(), total }
}
