//! How it is with the places of anchors, and the form in which people's choice of them is stored and recorded.
//!
//! Nothing is copied or compared here; that is `anchors.rs`.

use std::path::PathBuf;

use domain::ports::{AnchorPlace, AnchorPlaceFault};
use domain::time::Timestamp;
use serde_json::{Value, json};

/// What a stored place is said to be; a file where nothing is said.
const GIT: &str = "git";
const OTLP: &str = "otlp";

/// The places as they are stored, with the numbers that people call them by.
pub(super) fn read_places(text: &str) -> Option<Vec<(u32, AnchorPlace)>> {
    let places: Vec<Value> = serde_json::from_str(text).ok()?;
    let place = |place: &Value| {
        let id = u32::try_from(place.get("id")?.as_u64()?).ok()?;
        let path = PathBuf::from(place.get("path")?.as_str()?);
        match place.get("kind").and_then(Value::as_str) {
            None => Some((id, AnchorPlace::File(path))),
            Some(GIT) => {
                let remote = place.get("remote").and_then(Value::as_str).map(str::to_owned);
                Some((id, AnchorPlace::Git { repository: path, remote }))
            }
            Some(OTLP) => {
                let url = place.get("path")?.as_str()?.to_owned();
                let names = place.get("headers")?.as_array()?.iter();
                let headers = names.map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>()?;
                Some((id, AnchorPlace::Otlp { number: id, url, headers }))
            }
            Some(_) => None,
        }
    };
    places.iter().map(place).collect()
}

/// As it is stored.
pub(super) fn stored(AnchorStatus { id, place, .. }: &AnchorStatus) -> Value {
    match place {
        AnchorPlace::File(path) => json!({"id": id, "path": path}),
        AnchorPlace::Git { repository, remote } => {
            json!({"id": id, "kind": GIT, "path": repository, "remote": remote})
        }
        AnchorPlace::Otlp { url, headers, .. } => json!({"id": id, "kind": OTLP, "path": url, "headers": headers}),
    }
}

/// What the audit row of a place says.
pub(super) fn named(place: &AnchorPlace) -> String {
    let path = place.shown();
    match place {
        AnchorPlace::File(_) => path,
        AnchorPlace::Otlp { headers, .. } if headers.is_empty() => format!("{path} (otlp)"),
        AnchorPlace::Otlp { headers, .. } => format!("{path} (otlp, headers {})", headers.join(" ")),
        AnchorPlace::Git { remote: None, .. } => format!("{path} (git)"),
        AnchorPlace::Git { remote: Some(remote), .. } => format!("{path} (git, pushed to {remote})"),
    }
}

/// How it is with a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorStatus {
    /// What people call it by; given once.
    pub id: u32,
    /// Where the copies go.
    pub place: AnchorPlace,
    /// How many rows the newest copy covers, as far as this run of the core knows.
    pub newest: Option<u64>,
    /// The epoch of the last checkpoint that was found there; 0 while that is not known.
    pub(in crate::tasks::audit_log) epoch: u32,
    /// When this run copied last.
    pub copied: Option<Timestamp>,
    /// Why it gets no copies now.
    pub trouble: Option<AnchorTrouble>,
    /// When a collector wants to be asked again, at the earliest.
    pub(in crate::tasks::audit_log) not_before: Option<Timestamp>,
    /// Whether it is only on the disk of the registry.
    pub is_beside_registry: bool,
}

impl AnchorStatus {
    pub(super) const fn new(id: u32, place: AnchorPlace) -> Self {
        Self {
            id,
            place,
            newest: None,
            epoch: 0,
            copied: None,
            trouble: None,
            not_before: None,
            is_beside_registry: false,
        }
    }
}

/// Why a place gets no copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorTrouble {
    /// It cannot be read or written now; it is tried again.
    Unreachable(String),
    /// It holds something else.
    NotOurs(String),
    /// What it holds and the log cannot both be right.
    Contradicts(String),
    /// A collector refuses checkpoints; it is tried again when the core starts.
    Refused(String),
}

impl AnchorTrouble {
    /// The sentence, whose subject is the place.
    #[must_use]
    pub fn words(&self) -> &str {
        let (Self::Unreachable(why) | Self::NotOurs(why) | Self::Contradicts(why) | Self::Refused(why)) = self;
        why
    }

    /// Whether trying again may help.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }
}

impl From<AnchorPlaceFault> for AnchorTrouble {
    fn from(fault: AnchorPlaceFault) -> Self {
        match fault {
            AnchorPlaceFault::Unreachable(why) | AnchorPlaceFault::Later { why, .. } => Self::Unreachable(why),
            AnchorPlaceFault::NotOurs(why) => Self::NotOurs(why),
            AnchorPlaceFault::Refused(why) => Self::Refused(why),
        }
    }
}
