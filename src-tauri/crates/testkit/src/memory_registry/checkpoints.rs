//! The tree over the audit log in memory, written from RFC 6962 alone, and what was signed of it.
//!
//! It keeps the hash of every row that ever was and computes each root anew. Signatures are not verified here.

use domain::audit::report::{ReportedRow, RowsFound};
use domain::ports::{
    AuditFilter, AuditOrder, AuditQuery, AuditRecheck, BrokenCheckpoint, Checkpoint, CheckpointStore, CheckpointUnit,
    EpochUnit, LeafSpan, LogEpoch, LogHash, LogHead, LogKey, MonthRead, PortFuture, RegistryError, TreeCheck,
    TreeGrowth, TreeStart, UnsignedRows,
};
use domain::time::Timestamp;
use sha2::{Digest, Sha256};

use super::MemoryRegistry;
use super::audit_chain::unhex;
use super::audit_rows;
use super::store::MemoryStore;

/// The name of the log in its first epoch.
const ORIGIN: &str = "taskwarden/memory";

/// What was signed.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignedLog {
    /// Leaves of rows, also of those that retention removed.
    leaves: Vec<LogHash>,
    checkpoints: Vec<Checkpoint>,
    keys: Vec<LogKey>,
    /// Size and root of what was signed last.
    signed: Option<(u64, LogHash)>,
    /// The name of the log in a later epoch.
    renamed: Option<String>,
}

impl SignedLog {
    /// The name of the log.
    pub(super) fn origin(&self) -> String {
        self.renamed.clone().unwrap_or_else(|| ORIGIN.into())
    }
}

fn hash(parts: &[&[u8]]) -> LogHash {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

/// The Merkle tree hash of RFC 6962, section 2.1.
pub(super) fn tree_hash(leaves: &[LogHash]) -> LogHash {
    match leaves {
        [] => hash(&[]),
        [leaf] => *leaf,
        more => {
            let half = more.len().next_power_of_two() / 2;
            let (left, right) = more.split_at(half);
            hash(&[&[1], &tree_hash(left), &tree_hash(right)])
        }
    }
}

fn size(leaves: &[LogHash]) -> u64 {
    u64::try_from(leaves.len()).unwrap_or(u64::MAX)
}

impl MemoryStore {
    /// Takes rows into the tree; retention does so before it removes any.
    pub(super) fn grow_tree(&mut self, rows: usize) {
        let there = size(&self.signed.leaves);
        let new = self.audit.iter().filter(|row| row.number > there).take(rows);
        let leaves: Vec<LogHash> = new.map(|row| hash(&[&[0], &unhex(&row.hash)])).collect();
        self.signed.leaves.extend(leaves);
    }

    fn root_of(&self, span: LeafSpan) -> Option<LogHash> {
        let range = usize::try_from(span.begin).ok()?..usize::try_from(span.end).ok()?;
        self.signed.leaves.get(range).filter(|leaves| !leaves.is_empty()).map(tree_hash)
    }

    /// Why the rows do not lead from what was signed last to a head.
    fn fault_before(&self, head: &LogHead) -> Option<BrokenCheckpoint> {
        let (size, root) = self.signed.signed.filter(|(size, _)| *size > 0)?;
        let why = if self.root_of(LeafSpan { begin: 0, end: size }) != Some(root) {
            "the rows up to it are not those that were signed"
        } else if self.root_of(head.span()) != Some(head.root) {
            "the tree over the rows after it is not that of the rows"
        } else {
            return None;
        };
        Some(BrokenCheckpoint { size, why: why.into() })
    }

    fn compare(&self) -> TreeCheck {
        let newest = self.signed.checkpoints.iter().map(|one| one.size).max().unwrap_or_default();
        let holds = |one: &&Checkpoint| self.root_of(LeafSpan { begin: 0, end: one.size }) != Some(one.root);
        let broken = self.signed.checkpoints.iter().find(holds);
        TreeCheck {
            compared: u64::try_from(self.signed.checkpoints.len()).unwrap_or(u64::MAX),
            newest,
            epoch: LogEpoch::of(&self.signed.origin()).number,
            upto: newest,
            proven: None,
            broken: broken.map(|one| BrokenCheckpoint { size: one.size, why: "the rows are others".into() }),
            next: None,
        }
    }
}

impl CheckpointStore for MemoryRegistry {
    fn grow_tree(&self, rows: u32) -> PortFuture<'_, Result<TreeGrowth, RegistryError>> {
        let grown = self.with(|state, _| {
            state.grow_tree(usize::try_from(rows).unwrap_or(usize::MAX));
            let leaves = &state.signed.leaves;
            let head = LogHead { origin: state.signed.origin(), size: size(leaves), root: tree_hash(leaves) };
            TreeGrowth { head, last: state.audit.last().map_or(0, |row| row.number) }
        });
        Box::pin(async move { grown })
    }

    fn unsigned_rows(&self, newest: u64) -> PortFuture<'_, Result<UnsignedRows, RegistryError>> {
        let found = self.with(|state, _| {
            let signed = state.signed.checkpoints.iter().map(|one| one.size).max().unwrap_or_default();
            let last = state.audit.last().map_or(0, |row| row.number);
            let asked = signed.max(last.saturating_sub(newest));
            let decides = |row: &&domain::ports::AuditLink| {
                let actor = row.event.actor.to_string();
                let verb = row.event.verb.word();
                ["person:", "control:"].iter().any(|kind| actor.starts_with(kind))
                    || actor == "system:rule"
                    || verb == "halted"
                    || verb == "resumed"
            };
            UnsignedRows {
                rows: last.saturating_sub(signed),
                has_decision: state.audit.iter().filter(|row| row.number > asked).any(|row| decides(&row)),
                since: state.audit.iter().find(|row| row.number > signed).map(|row| row.event.at),
            }
        });
        Box::pin(async move { found })
    }

    fn signing_fault(&self, head: LogHead) -> PortFuture<'_, Result<Option<BrokenCheckpoint>, RegistryError>> {
        let found = self.with(|state, _| state.fault_before(&head));
        Box::pin(async move { found })
    }

    fn rebuild_tree(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        // Its tree is always that of its rows.
        Box::pin(async move { Ok(()) })
    }

    fn put_checkpoint(&self, unit: CheckpointUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            self.with(|state, _| {
                let CheckpointUnit { checkpoint, public, audit } = unit;
                let signed = &mut state.signed;
                for known in &mut signed.keys {
                    known.retired = match (known.id == checkpoint.key, known.retired) {
                        (true, _) => None,
                        (false, retired) => retired.or(Some(checkpoint.at)),
                    };
                }
                if !signed.keys.iter().any(|known| known.id == checkpoint.key) {
                    let id = checkpoint.key.clone();
                    signed.keys.push(LogKey { id, public, created: checkpoint.at, retired: None });
                }
                signed.signed = Some((checkpoint.size, checkpoint.root));
                signed.checkpoints.retain(|one| one.size != checkpoint.size);
                signed.checkpoints.push(checkpoint);
                state.facts(audit);
            })
        })
    }

    fn begin_epoch(&self, unit: EpochUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            self.with(|state, _| {
                state.signed.renamed = Some(unit.origin);
                state.signed.signed = Some((unit.size, unit.root));
                state.facts(unit.audit);
            })
        })
    }

    fn checkpoints(&self, limit: u32) -> PortFuture<'_, Result<Vec<Checkpoint>, RegistryError>> {
        let found = self.with(|state, _| {
            let mut all = state.signed.checkpoints.clone();
            all.sort_by_key(|one| std::cmp::Reverse(one.size));
            all.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            all
        });
        Box::pin(async move { found })
    }

    fn log_keys(&self) -> PortFuture<'_, Result<Vec<LogKey>, RegistryError>> {
        let found = self.with(|state, _| {
            let mut all = state.signed.keys.clone();
            all.sort_by_key(|key| (key.retired.is_some(), std::cmp::Reverse(key.created), key.id.clone()));
            all
        });
        Box::pin(async move { found })
    }

    fn tree_roots(&self, spans: Vec<LeafSpan>) -> PortFuture<'_, Result<Vec<Option<LogHash>>, RegistryError>> {
        let found = self.with(|state, _| spans.into_iter().map(|span| state.root_of(span)).collect());
        Box::pin(async move { found })
    }

    fn check_tree(&self, _start: TreeStart, _rows: u32) -> PortFuture<'_, Result<TreeCheck, RegistryError>> {
        let found = self.with(|state, _| state.compare());
        Box::pin(async move { found })
    }

    fn reverify_audit(&self, _after: Option<u64>, _rows: u32) -> PortFuture<'_, Result<AuditRecheck, RegistryError>> {
        let found = self.with(|state, _| state.reverify());
        Box::pin(async move { found })
    }

    fn audit_count(&self, filter: AuditFilter, last: u64) -> PortFuture<'_, Result<u64, RegistryError>> {
        let found = self.with(|state, _| {
            let query = AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: u32::MAX };
            let all = audit_rows::filtered(&state.audit, &query, u32::MAX);
            u64::try_from(all.rows.iter().filter(|row| row.number <= last).count()).unwrap_or(u64::MAX)
        });
        Box::pin(async move { found })
    }

    fn month_report(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Result<MonthRead, RegistryError>> {
        let found = self.with(|state, _| {
            let filter = AuditFilter { since: Some(since), until: Some(until), ..AuditFilter::default() };
            let query = AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: u32::MAX };
            let all = audit_rows::filtered(&state.audit, &query, u32::MAX);
            let mut read = MonthRead { first: all.first, ..MonthRead::default() };
            for row in &all.rows {
                read.report.count(RowsFound { rows: 1, first: row.number, last: row.number });
                read.report.take(&ReportedRow {
                    number: row.number,
                    at: row.at,
                    actor: &row.actor,
                    verb: &row.verb,
                    subject: &row.subject,
                    server: &row.server,
                    agent: &row.agent,
                    note: row.note.as_deref().unwrap_or_default(),
                });
            }
            read
        });
        Box::pin(async move { found })
    }
}
