//! How often the audit log is signed, how much of it is read at once, how receipts of calls are stored, and how rows are
//! sent to collectors.
//!
//! What checkpoints and receipts are and prove is in `docs/audit.md`; the engine makes them (`tasks/audit_log`).

use std::time::Duration;

use super::super::{BadPolicy, KIB, MIB, MINUTE, SECOND};

/// When checkpoints are made, and how work on the tree is divided into small steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPolicy {
    /// The shortest time between two checkpoints that nobody asked for. audit.md §2.3: at most one per second.
    pub checkpoint_gap: Duration,
    /// New rows are signed at the latest after this. audit.md §2.3: 60 s.
    pub checkpoint_every: Duration,
    /// So many new rows are signed at once. audit.md §2.3.
    pub checkpoint_rows: u64,
    /// Rows that have waited longer for a signature are told by `doctor`. audit.md §3 (2): 10 minutes.
    pub unsigned_told_after: Duration,
    /// Rows taken into the tree in one transaction. Judgement: some tens of milliseconds of reading.
    pub tree_rows_at_once: u32,
    /// Rows behind which `doctor` compares checkpoints with the rows; `audit verify` compares all. Judgement: a day of
    /// usual work, and some milliseconds.
    pub checked_rows: u32,
    /// How long `doctor` verifies rows again that were verified before. Judgement: some hundred thousand rows, so that a
    /// log of a year is looked at in a few runs, and well below `reply_limit`.
    pub reverify_limit: Duration,
    /// Rows of an export with stubs, at most. audit.md §3.1: 1,000,000.
    pub export_stubs_max: u64,
    /// Places to which checkpoints are copied, at most. Judgement: two disks and some to spare.
    pub anchors_max: usize,
    /// The shortest time between two copies to one place. Judgement: a day of decisions is a few megabytes, and the rows
    /// that nothing outside proves are those of some seconds.
    pub anchor_gap: Duration,
    /// A place that does not answer for so long counts as unreachable. Judgement: a disk that wakes up takes some seconds.
    pub anchor_limit: Duration,
    /// A place that was unreachable is tried again after this. Judgement: a person who plugs a disk in sees it work.
    pub anchor_again: Duration,
    /// Of a file of anchors, so much of its end is read for its last note, and of a commit its beginning. Judgement: a note
    /// has some 250 bytes.
    pub anchor_tail_bytes: u64,
    /// Checkpoints of a file that are compared with the log in one call. Judgement: some milliseconds.
    pub compared_at_once: usize,
    /// Newest checkpoints that an export has consistency proofs for, so that copies of them can be compared. Judgement:
    /// some 100 KB.
    pub export_earlier_max: u32,
    /// A part of an export that has more bytes gets no further row. Judgement: a batch of receipts has some 60 KB, and a
    /// part is one message.
    pub export_part_bytes: usize,
    /// Batches of receipts that an export reads at once. Judgement: full ones fill a part.
    pub export_batches_at_once: usize,
    /// Receipts of calls are stored at the latest after this. audit.md §2.1.
    pub receipt_every: Duration,
    /// So many receipts that wait are stored at once, and no batch has more. audit.md §2.1.
    pub receipts_at_once: usize,
    /// Receipts of one agent that wait to be stored at most; of those beyond it only the number is kept. Judgement: the
    /// most requests that an agent may make (`GatewayPolicy::requests_per_second`) in three times the time after which a
    /// slow disk refuses its calls (`RetentionPolicy::slow_commit`).
    pub receipts_per_agent: usize,
    /// The same of all agents. Judgement: four times that of one, 10 MB.
    pub receipts_waiting: usize,
    /// Bytes of arguments that wait for their mark at most; receipts beyond it have none. Judgement: five seconds of 5,000
    /// calls of 500 bytes.
    pub receipt_argument_bytes: usize,
    /// The same of one agent. Judgement: a quarter, as for what agents share (decision 0015).
    pub receipt_agent_argument_bytes: usize,
    /// Bytes of the name of a tool in a receipt at most. Judgement: twice the longest name that MCP has.
    pub receipt_tool_bytes: usize,
    /// How long a shutdown waits for calls that are being answered, so that they leave their receipts. Judgement: their
    /// connections are closed, so each ends by itself.
    pub receipts_drain: Duration,
    /// Batches of receipts that are verified in one read. Judgement: 16,384 receipts, some tens of milliseconds.
    pub receipt_batches_checked: u32,
    /// Collectors that rows are sent to, at most. Judgement: as for anchors.
    pub sinks_max: usize,
    /// New rows are gathered for so long before they are sent. Judgement: rows of one decision go together, and a screen
    /// elsewhere is a second behind.
    pub sink_gap: Duration,
    /// Rows that are read for one request at most, each a log record or the end of a task. Judgement: the batch size that
    /// OpenTelemetry SDKs use, 512.
    pub sink_rows: u32,
    /// A request that has more bytes gets no further row or span. Judgement: collectors take 4 MiB and more by default.
    pub sink_bytes: usize,
    /// Events of one span at most; the later ones are counted. OpenTelemetry SDK specification, span limits: 128.
    pub span_events: usize,
    /// Newest attempts of a job among which the one before is looked for. Judgement: more are made while one runs only by
    /// an agent in a loop.
    pub span_attempts: u32,
    /// A collector that does not answer for so long counts as unreachable. OTLP exporter specification: 10 s.
    pub sink_limit: Duration,
    /// A longer answer of a collector is not read to its end. Judgement: a count, and a sentence for each of 512 rows.
    pub sink_reply_bytes: usize,
    /// Headers of one collector at most. Judgement: a token, a tenant and some to spare.
    pub sink_headers_max: usize,
}

impl Default for AuditPolicy {
    fn default() -> Self {
        Self {
            checkpoint_gap: SECOND,
            checkpoint_every: MINUTE,
            checkpoint_rows: 1_024,
            unsigned_told_after: 10 * MINUTE,
            tree_rows_at_once: 20_000,
            checked_rows: 5_000,
            reverify_limit: 2 * SECOND,
            anchors_max: 8,
            anchor_gap: 10 * SECOND,
            anchor_limit: 10 * SECOND,
            anchor_again: MINUTE,
            anchor_tail_bytes: 4_096,
            compared_at_once: 256,
            export_stubs_max: 1_000_000,
            export_earlier_max: 64,
            export_part_bytes: MIB,
            export_batches_at_once: 16,
            receipt_every: SECOND,
            receipts_at_once: 256,
            receipts_per_agent: 16_384,
            receipts_waiting: 65_536,
            receipt_argument_bytes: 16 * MIB,
            receipt_agent_argument_bytes: 4 * MIB,
            receipt_tool_bytes: KIB / 4,
            receipts_drain: SECOND / 2,
            receipt_batches_checked: 64,
            sinks_max: 8,
            sink_gap: SECOND,
            sink_rows: 512,
            sink_bytes: MIB,
            span_events: 128,
            span_attempts: 64,
            sink_limit: 10 * SECOND,
            sink_reply_bytes: 256 * KIB,
            sink_headers_max: 16,
        }
    }
}

impl AuditPolicy {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(
            self.checkpoint_every >= self.checkpoint_gap,
            "audit.checkpoint_every",
            "must not be below checkpoint_gap",
        )?;
        rule(self.checkpoint_rows > 0, "audit.checkpoint_rows", "must be above zero")?;
        rule(self.tree_rows_at_once > 0, "audit.tree_rows_at_once", "must be above zero")?;
        rule(self.checked_rows > 0, "audit.checked_rows", "must be above zero")?;
        rule(!self.receipt_every.is_zero(), "audit.receipt_every", "must be above zero")?;
        rule(self.export_part_bytes > 0, "audit.export_part_bytes", "must be above zero")?;
        rule(self.export_batches_at_once > 0, "audit.export_batches_at_once", "must be above zero")?;
        // A batch is one line of an export.
        rule((1..=1_024).contains(&self.receipts_at_once), "audit.receipts_at_once", "must be from 1 to 1,024")?;
        rule(
            self.receipts_per_agent >= self.receipts_at_once && self.receipts_waiting >= self.receipts_per_agent,
            "audit.receipts_per_agent",
            "must not be below receipts_at_once, nor above receipts_waiting",
        )?;
        rule(self.receipt_batches_checked > 0, "audit.receipt_batches_checked", "must be above zero")?;
        rule(self.sink_rows > 0, "audit.sink_rows", "must be above zero")?;
        rule(self.sink_bytes > 0, "audit.sink_bytes", "must be above zero")?;
        rule(self.sink_reply_bytes > 0, "audit.sink_reply_bytes", "must be above zero")?;
        rule(!self.sink_limit.is_zero(), "audit.sink_limit", "must be above zero")
    }
}
