//! Anchors: places to which checkpoints are copied, and kept checkpoints that are compared with the log.
//!
//! The engine copies (`audit_log/anchors.rs`); what an anchor proves is in `docs/audit.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::ports::{AnchorPlace, LogEpoch, LogHead, LogKey, StoredSinks};
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use verify::note::{NoteFault, NoteKey, SignedNote, TreeHead};

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::Nothing;
use crate::calls::core::data_folder::refuse_in_data_folder;
use crate::calls::core::sinks::collector_url;
use crate::dto::core::anchor::{AnchorDto, AnchorKind, AnchorList, ComparedNote, NotesCompared};
use crate::error::{ApiError, Code};

/// A place that is to hold copies of checkpoints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddAnchor {
    /// The whole path of the file, which may not be there yet, or of the folder of a git repository.
    pub path: String,
    /// What it is; a file when it is left out.
    #[serde(default)]
    #[ts(optional, as = "Option<AnchorKind>")]
    pub kind: AnchorKind,
    /// The remote of the repository that each commit is pushed to, by its name there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub remote: Option<String>,
}

impl AddAnchor {
    fn place(&self) -> Result<AnchorPlace, ApiError> {
        let path = PathBuf::from(&self.path);
        match (self.kind, &self.remote) {
            (AnchorKind::File, None) => Ok(AnchorPlace::File(path)),
            (AnchorKind::Git, remote) => Ok(AnchorPlace::Git { repository: path, remote: remote.clone() }),
            (AnchorKind::Otlp, _) => Err(ApiError::new(
                Code::Usage,
                "`kind`: a collector has an address in the place of a path",
                "Add it with `audit.addCollectorAnchor`.",
            )),
            (AnchorKind::File, Some(_)) => Err(ApiError::new(
                Code::Usage,
                "`remote`: a file is not pushed anywhere",
                "Leave `remote` out, or give `kind` as `git`.",
            )),
        }
    }
}

/// A collector that is to get checkpoints. Has no `Debug`: it carries secrets.
#[derive(Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AddCollectorAnchor {
    /// Its address over OTLP/HTTP; `/v1/logs` at its end is left out.
    pub url: String,
    /// Values of headers of each request, by name.
    #[serde(default)]
    #[ts(optional, type = "Record<string, string>")]
    pub headers: BTreeMap<String, String>,
}

/// The number of an anchor, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OneAnchor {
    pub id: u32,
}

/// Checkpoints that somebody kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompareNotes {
    /// Whole signed notes.
    pub notes: Vec<String>,
    /// An epoch of the log that the person knows to have begun: that the log forked before it is no fault.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub epoch: Option<u32>,
}

impl Api {
    /// The places to which checkpoints are copied.
    ///
    /// # Errors
    /// When no core runs.
    #[expect(clippy::unused_async, reason = "all calls are asynchronous")]
    pub async fn audit_anchors(&self, _caller: &Caller, _input: Nothing) -> Result<AnchorList, ApiError> {
        Ok(AnchorList { anchors: self.live()?.engine.anchors().into_iter().map(AnchorDto::of).collect() })
    }

    /// Copies checkpoints to one more place from here on, the first one at once.
    ///
    /// # Errors
    /// When no core runs, or the place cannot be used.
    pub async fn audit_add_anchor(&self, caller: &Caller, input: AddAnchor) -> Result<AnchorDto, ApiError> {
        let path = Path::new(&input.path);
        if !path.is_absolute() || path.file_name().is_none() {
            return Err(ApiError::new(
                Code::Usage,
                format!("`path`: `{}` is not the whole path of a file or folder", input.path),
                "Give a path that begins at the root, such as `/media/usb/taskwarden.notes`.",
            ));
        }
        let live = self.live()?;
        refuse_in_data_folder("`path`: ", path, Path::new(&live.place.home))?;
        Ok(AnchorDto::of(live.engine.add_anchor(input.place()?, &caller.person).await?))
    }

    /// Sends checkpoints to one more collector from here on. Returns after the first attempt.
    ///
    /// # Errors
    /// When no core runs, the address or a header cannot be used, or it cannot be recorded.
    pub async fn audit_add_collector_anchor(
        &self,
        caller: &Caller,
        input: AddCollectorAnchor,
    ) -> Result<AnchorDto, ApiError> {
        let live = self.live()?;
        let url = collector_url(&input.url)?;
        let url = url.as_str().trim_end_matches('/').to_owned();
        let headers = self.taken_headers(input.headers)?;
        Ok(AnchorDto::of(live.engine.add_collector_anchor(url, &headers, &caller.person).await?))
    }

    /// Copies checkpoints to this place no longer. What lies there stays as it is.
    ///
    /// # Errors
    /// When no core runs, or there is no such anchor.
    pub async fn audit_remove_anchor(&self, caller: &Caller, input: OneAnchor) -> Result<AnchorList, ApiError> {
        self.live()?.engine.remove_anchor(input.id, &caller.person).await?;
        self.audit_anchors(caller, Nothing {}).await
    }

    /// Compares checkpoints that somebody kept with the log; a limited number in one call.
    ///
    /// # Errors
    /// When there are too many, one does not read, or the registry cannot be read.
    pub async fn audit_compare_notes(&self, _caller: &Caller, input: CompareNotes) -> Result<NotesCompared, ApiError> {
        let most = self.policy.audit.compared_at_once;
        if input.notes.len() > most {
            let why = format!("`notes`: {} at once are more than {most}", input.notes.len());
            return Err(ApiError::new(Code::Usage, why, "Compare them in several calls."));
        }
        if input.notes.is_empty() {
            return Ok(NotesCompared { notes: Vec::new(), newest: 0 });
        }
        let keys: Vec<LogKey> = self.registry.log_keys().await?;
        let keys: Vec<NoteKey> = keys.iter().filter_map(|key| NoteKey::parse(&key.public).ok()).collect();
        // Rows are compared whether a checkpoint is left or not: somebody may have removed them.
        let StoredSinks { origin, last, .. } = self.registry.sinks().await?;
        let newest = self.registry.checkpoints(1).await?.into_iter().next();
        let (newest, root) = newest.map_or((0, [0; 32]), |newest| (newest.size, newest.root));
        let log = LogHead { origin, size: last, root };
        let epoch = LogEpoch::of(&log.origin).number;
        let known = input.epoch.unwrap_or(1);
        if known > epoch {
            return Err(ApiError::new(
                Code::Usage,
                format!("`epoch`: {known} is above the number of this log, which is {epoch}"),
                "The number is 1, and one more each time the log went on from an older copy of the registry; rows \
                 `epochBegun` say when, and why.",
            ));
        }
        let kept = input.notes.iter().map(|note| head(note)).collect::<Result<Vec<_>, _>>().map_err(bad_note)?;
        let roots = self.registry.tree_roots(kept.iter().map(|(head, _)| head.span()).collect()).await?;
        let compared = kept.iter().zip(roots).map(|((head, note), root)| {
            let unsigned =
                || note.signer(&keys).err().map(|why| format!("has a checkpoint of {} rows: {why}", head.size));
            let fault = head.contradiction(&log, root, known).or_else(unsigned);
            let is_known_fork = fault.is_none() && head.is_fork(&log, root);
            ComparedNote { size: head.size, fault, is_known_fork }
        });
        Ok(NotesCompared { notes: compared.collect(), newest })
    }
}

fn head(note: &str) -> Result<(LogHead, SignedNote), NoteFault> {
    let note = SignedNote::parse(note)?;
    let TreeHead { origin, size, root } = TreeHead::parse(note.text())?;
    Ok((LogHead { origin, size, root }, note))
}

fn bad_note(why: NoteFault) -> ApiError {
    ApiError::new(Code::Usage, format!("`notes`: one does not read: {why}"), "Give whole signed notes.")
}
