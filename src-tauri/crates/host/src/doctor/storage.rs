//! Whether the core records, what is stored, the reserve, and the audit log.
//!
//! Grades what the core or the registry reported (`CoreFacts`); looks at nothing itself.

use api::calls::core::doctor::CoreFacts;
use api::calls::core::findings::Finding;
use api::dto::RecordingDto;
use api::dto::core::anchor::{AnchorDto, AnchorKind};
use api::dto::core::sink::SinkSignalDto;
use api::format::storage::{StuckStorage, bytes};
use api::format::time::count;
use api::format::tokens::grouped;

pub(super) fn examine(facts: &CoreFacts) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(recording(facts));
    found.push(stored(facts));
    found.extend(reserve(facts));
    found.push(audit(facts));
    found.extend(receipts(facts));
    found.push(checkpoints(facts));
    found.extend(facts.anchors.iter().map(anchor));
    for each in facts.named.iter().flat_map(|named| &named.sinks) {
        found.extend(each.signals.iter().map(|signal| sink(each.id, signal)));
    }
    found
}

fn recording(facts: &CoreFacts) -> Option<Finding> {
    match facts.recording.as_ref()? {
        RecordingDto::Ok => Some(Finding::fine("recording", "every change is recorded")),
        RecordingDto::Cannot { message, cure, since, calls, .. } => {
            let in_flight = match u64::try_from(calls.len()).unwrap_or(u64::MAX) {
                0 => String::new(),
                many => {
                    format!("; {} not recorded (`taskwarden tasks list` shows them)", count(many, "call"))
                }
            };
            let refused = "new calls of agents are refused before they leave";
            Some(Finding::broken("recording", format!("{message}, since {since}; {refused}{in_flight}"), cure.clone()))
        }
    }
}

fn stored(facts: &CoreFacts) -> Finding {
    let storage = &facts.storage;
    let (tasks, kept) = (storage.stored.tasks, storage.stored.kept_tasks);
    let kept_bytes = kept.bytes.unwrap_or_default();
    let message = format!(
        "{} of contents of tasks of at most {} ({} protected), {} of at most {} ({} protected), {}",
        bytes(storage.content_bytes),
        bytes(storage.limits.payload_bytes),
        bytes(kept_bytes),
        count(tasks.rows, "task"),
        grouped(storage.limits.tasks),
        grouped(kept.rows),
        count(storage.stored.audit.rows, "audit row"),
    );
    if let Some(stuck) = StuckStorage::of(storage) {
        return Finding::broken("storage", format!("{}: {message}", stuck.message), stuck.cure);
    }
    if !storage.shrinks {
        let message = format!("{message}; free space is not returned to the disk");
        return Finding::note("storage", message, "Run `taskwarden storage clean --compact` once, at a quiet moment.");
    }
    Finding::fine("storage", message)
}

/// While nothing can be recorded the reserve is in use, which is reported above.
fn reserve(facts: &CoreFacts) -> Option<Finding> {
    let is_ok = facts.recording.as_ref().is_some_and(|recording| *recording == RecordingDto::Ok);
    let (there, wanted) = (facts.storage.reserve_bytes, facts.storage.reserve_wanted_bytes);
    (is_ok && there < wanted).then(|| {
        Finding::note(
            "reserve",
            format!("the reserve file has {} of {}", bytes(there), bytes(wanted)),
            "Free some space. On a full disk, cancellations and answers are recorded in the reserve.",
        )
    })
}

fn audit(facts: &CoreFacts) -> Finding {
    let (audit, again) = (&facts.audit, &facts.rechecked);
    // Rows that were verified before stand before those that are new.
    match again.broken.as_ref().or(audit.broken.as_ref()) {
        Some(broken) => Finding::broken(
            "audit",
            format!("row {} of the audit log does not fit: {}", broken.number, broken.why),
            "Keep a copy of the data folder as evidence and look who can write it; `backups` may have the row as it \
             was. `taskwarden audit verify` checks it again.",
        ),
        None if audit.complete && again.rows > 0 => Finding::fine(
            "audit",
            format!("verified to row {}; {} verified again", audit.last, count(again.rows, "row")),
        ),
        None if audit.complete => Finding::fine("audit", format!("verified to row {}", audit.last)),
        None => Finding::note(
            "audit",
            format!("verified to row {} of {}", audit.verified_to, audit.last),
            "Run `taskwarden audit verify` to check the rest.",
        ),
    }
}

/// Without any call there is nothing to say.
fn receipts(facts: &CoreFacts) -> Option<Finding> {
    let (area, found) = ("receipts", &facts.receipts);
    match &found.broken {
        Some(broken) => Some(Finding::broken(
            area,
            format!("receipt {} of a call does not hold: {}", broken.number, broken.why),
            "Keep a copy of the data folder as evidence; its `backups` folder may have the receipt as it was. `taskwarden \
             audit verify` checks all of them.",
        )),
        None if found.receipts > 0 => {
            Some(Finding::fine(area, format!("{} verified", count(found.receipts, "receipt"))))
        }
        None => None,
    }
}

fn checkpoints(facts: &CoreFacts) -> Finding {
    let (area, found) = ("checkpoint", &facts.checkpoints);
    if let Some(broken) = &found.broken {
        return Finding::broken(
            area,
            format!("the checkpoint of row {} does not hold: {}", broken.number, broken.why),
            "Keep a copy of the data folder as evidence. `taskwarden audit verify --anchor PLACE` compares all checkpoints, \
             and the rows with checkpoints that are kept elsewhere. Put a backup back, or go on from the rows that are \
             there with `taskwarden audit checkpoint --new-epoch`, which is recorded.",
        );
    }
    let message = match found.newest {
        0 => "the audit log is not signed yet".to_owned(),
        newest => format!("the audit log is signed to row {newest}"),
    };
    let message = match found.epoch {
        0 | 1 => message,
        _ => format!("{message}; it went on from an older copy of the registry"),
    };
    match (&found.late_since, facts.process) {
        (Some(since), Some(_)) => Finding::note(
            area,
            format!("{message}; {} since {since} are not signed", count(found.unsigned, "row")),
            "The log of the core says why; the key is kept with the secrets. Rows are recorded all the same.",
        ),
        _ => Finding::fine(area, message),
    }
}

fn anchor(anchor: &AnchorDto) -> Finding {
    let area = "anchor";
    let message = anchor.sentence();
    match &anchor.trouble {
        Some(_) if anchor.contradicts => Finding::broken(
            area,
            message,
            "Keep a copy of that place and of the data folder as evidence. `taskwarden audit verify --anchor PLACE` compares \
             each checkpoint of it. If you put an older copy of the registry back yourself, `taskwarden audit checkpoint \
             --new-epoch` puts that on record, and copies go on.",
        ),
        Some(_) if anchor.kind == AnchorKind::Otlp => Finding::note(
            area,
            message,
            "It is tried again by itself, unless it refused the checkpoint: then end it with `taskwarden audit anchors remove \
             ID`, and add it again with the right address and headers.",
        ),
        Some(_) => Finding::note(
            area,
            message,
            "Make the place reachable; it is tried again every minute. `taskwarden audit anchors remove ID` ends the copies.",
        ),
        None if anchor.is_beside_registry => Finding::note(
            area,
            message,
            "A file on another disk, or a repository that is pushed, proves more: `taskwarden audit anchors add`.",
        ),
        None => Finding::fine(area, message),
    }
}

fn sink(id: u32, signal: &SinkSignalDto) -> Finding {
    let (area, message) = ("sink", format!("{id}  {}", signal.sentence()));
    if signal.paused {
        let cure = format!(
            "No row is lost unless retention removes it first. Check the address and the headers, or look into the log of the \
             collector; then run `taskwarden audit sinks resume {id}`, with `--header` for a new value. `taskwarden audit \
             sinks remove {id}` ends it."
        );
        return Finding::broken(area, message, cure);
    }
    match &signal.trouble {
        Some(_) => Finding::note(
            area,
            message,
            format!(
                "It is tried again by itself, and no row is lost unless retention removes it first. `taskwarden audit sinks \
                 resume {id}` tries at once; `taskwarden audit sinks remove {id}` ends it."
            ),
        ),
        None if signal.rejected > 0 => Finding::note(
            area,
            message,
            format!(
                "What it rejected is still here; the log of the collector says why it rejected it. To send it again, run \
                 `taskwarden audit sinks remove {id}` and then `taskwarden audit sinks add otlp URL --first NUMBER`, with \
                 the same `--signals`."
            ),
        ),
        None => Finding::fine(area, message),
    }
}
