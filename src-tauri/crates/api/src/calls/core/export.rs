//! Exports of the audit log: begun with a row, a checkpoint and the first line, and read on in parts by whoever writes the
//! file.
//!
//! The filter and the size of the tree say what each part holds, so nothing is kept between the calls. Lines are made in
//! `export/lines.rs`; the format is in `docs/audit.md`.

mod csv_lines;
mod lines;

use domain::audit::Verb;
use domain::ports::{AuditFilter, AuditOrder, AuditQuery, AuditRow, AuditRows, BrokenCheckpoint};
use domain::time::Timestamp;
use engine::otlp_lines;
use serde::{Deserialize, Serialize};
use ts_rs::TS;
use verify::export::{GapKind, Trailer};
use verify::filter::RowFilter;
use verify::receipt::CALLED;
use verify::tree::LeafRange;

use crate::api::Api;
use crate::caller::Caller;
use crate::calls::core::audit::AuditFilterDto;
use crate::dto::iso;
use crate::error::{ApiError, Code};

/// In which format rows are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// JSON Lines that `taskwarden-verify` checks.
    #[default]
    Jsonl,
    /// A table for a spreadsheet, of the rows that match. It proves nothing.
    Csv,
    /// Log records of OpenTelemetry, of the rows that match, one request on each line. It proves nothing.
    Otlp,
}

/// What an export holds of rows that do not match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub enum ExportGaps {
    /// Their fields without the text: that none was left out is proven.
    #[default]
    Stubs,
    /// Nothing: each row and each receipt of a call proves its own place only.
    Hashes,
}

impl ExportGaps {
    const fn word(self) -> &'static str {
        match self {
            Self::Stubs => "stubs",
            Self::Hashes => "hashes",
        }
    }

    const fn kind(self) -> GapKind {
        match self {
            Self::Stubs => GapKind::Stubs,
            Self::Hashes => GapKind::Hashes,
        }
    }
}

impl ExportFormat {
    const fn word(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Otlp => "otlp",
        }
    }

    /// Whether `taskwarden-verify` checks it, and it ends with a trailer.
    const fn has_proof(self) -> bool {
        match self {
            Self::Jsonl => true,
            Self::Csv | Self::Otlp => false,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExportAudit {
    pub filter: AuditFilterDto,
    pub format: ExportFormat,
    pub gaps: ExportGaps,
}

/// The part of an export that comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadExport {
    /// As the begun export has it: names are ids, and the range has both ends.
    pub filter: AuditFilterDto,
    pub format: ExportFormat,
    pub gaps: ExportGaps,
    /// The rows that the checkpoint covers.
    pub size: u64,
    /// The last row that was looked at.
    pub after: u64,
    /// Rows written so far.
    pub rows: u64,
    /// Stubs written so far.
    pub stubs: u64,
    /// Receipts of calls written so far.
    pub receipts: u64,
}

/// An export that is on record and signed, with its first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportBegun {
    /// How the rest is read.
    pub next: ReadExport,
    /// The first row of the range.
    pub first: u64,
    /// The last row of the range.
    pub last: u64,
    /// Rows that match.
    pub matching: u64,
    /// The beginning of the file.
    pub text: String,
    /// What the file proves, in a sentence.
    pub proves: String,
}

/// A part of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ExportPart {
    pub text: String,
    /// How the rest is read; null behind the last part.
    pub next: Option<ReadExport>,
    /// Rows written so far.
    pub rows: u64,
    /// Stubs written so far.
    pub stubs: u64,
    /// Receipts of calls written so far.
    pub receipts: u64,
    /// The first row of this part whose fields do not give its hash.
    pub broken: Option<u64>,
}

impl ExportPart {
    /// Adds the line of a row, or that of a stub.
    fn add_row(&mut self, line: &str, is_row: bool) {
        self.text.push_str(line);
        let counted = if is_row { &mut self.rows } else { &mut self.stubs };
        *counted = counted.saturating_add(1);
    }

    fn add_receipts(&mut self, receipts: Option<lines::ReceiptsText>) {
        if let Some(lines::ReceiptsText { text, count }) = receipts {
            self.text.push_str(&text);
            self.receipts = self.receipts.saturating_add(count);
        }
    }
}

/// The filter as a proof has it: ids in the place of names, and times as numbers.
fn row_filter(filter: &AuditFilter) -> RowFilter {
    RowFilter {
        first: filter.first,
        last: filter.last,
        since: filter.since.map(Timestamp::as_millis),
        until: filter.until.map(Timestamp::as_millis),
        actor: filter.actor.clone(),
        verbs: filter.verbs.clone(),
        subject: filter.subject.clone(),
        server: filter.server.map(|id| id.to_string()),
        agent: filter.agent.map(|id| id.to_string()),
        task: filter.task.map(|id| id.to_string()),
        text: filter.text.clone(),
    }
}

/// The same as an input, so that it means the same in every part.
fn fixed(filter: RowFilter) -> AuditFilterDto {
    let time = |at: Option<i64>| at.map(|at| iso(Timestamp::from_millis(at)));
    let RowFilter { first, last, since, until, actor, verbs, subject, server, agent, task, text } = filter;
    let (since, until) = (time(since), time(until));
    AuditFilterDto { first, last, since, until, actor, verbs, subject, server, agent, task, text }
}

/// What a file proves, in a sentence.
fn proves(format: ExportFormat, filter: &AuditFilter, gaps: ExportGaps, first: u64, last: u64) -> String {
    if !format.has_proof() {
        return "The file is a copy to read and proves nothing; `--format jsonl` writes one that can be verified."
            .into();
    }
    let each = "The file proves that each row is genuine and in its place";
    match gaps {
        ExportGaps::Hashes => format!(
            "{each}, and so is each receipt of a call; that no matching row or call was left out is not proven."
        ),
        ExportGaps::Stubs if filter.text.is_some() => {
            format!("{each}; completeness is not proven, because the filter asks for words of a note.")
        }
        ExportGaps::Stubs => {
            let old = if filter.server.is_some() || filter.agent.is_some() {
                " Rows of earlier versions name no server and no agent; the verifier counts them as undecided."
            } else {
                ""
            };
            format!("{each}, and that no row of {first} to {last} that matches was left out.{old}")
        }
    }
}

/// The same filter without one of its conditions, with the option that sets it.
fn without_one(filter: &AuditFilter) -> Vec<(&'static str, AuditFilter)> {
    let all = |option, is_set: bool, change: &dyn Fn(&mut AuditFilter)| {
        let mut wider = filter.clone();
        change(&mut wider);
        is_set.then_some((option, wider))
    };
    [
        all("--first", filter.first.is_some(), &|wider| wider.first = None),
        all("--last", filter.last.is_some(), &|wider| wider.last = None),
        all("--since", filter.since.is_some(), &|wider| wider.since = None),
        all("--until", filter.until.is_some(), &|wider| wider.until = None),
        all("--actor", filter.actor.is_some(), &|wider| wider.actor = None),
        all("--verb", !filter.verbs.is_empty(), &|wider| wider.verbs.clear()),
        all("--subject", filter.subject.is_some(), &|wider| wider.subject = None),
        all("--server", filter.server.is_some(), &|wider| wider.server = None),
        all("--agent", filter.agent.is_some(), &|wider| wider.agent = None),
        all("--task", filter.task.is_some(), &|wider| wider.task = None),
        all("--text", filter.text.is_some(), &|wider| wider.text = None),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Api {
    /// Begins an export: says what it will hold, records it, and signs the log.
    ///
    /// # Errors
    /// When nothing matches, the file would be too large, no core runs, or the log cannot be signed.
    pub async fn audit_export(&self, caller: &Caller, input: ExportAudit) -> Result<ExportBegun, ApiError> {
        let live = self.live()?;
        let ExportAudit { filter, format, gaps } = input;
        let mut filter = self.audit_filter(filter).await?;
        let ends =
            AuditQuery { filter: AuditFilter::default(), order: AuditOrder::NewestFirst, behind: None, limit: 1 };
        let ends = self.registry.audit_rows(ends).await?;
        let first = filter.first.unwrap_or(1).max(ends.first).max(1);
        let last = filter.last.unwrap_or(u64::MAX).min(ends.last);
        if let (Some(begin), Some(end)) = (filter.first, filter.last)
            && begin > end
        {
            return Err(ApiError::new(
                Code::Usage,
                format!("the range is empty: its first row, {begin}, is after its last row, {end}"),
                "Give `--first` the smaller number; nothing was written.",
            ));
        }
        let matching = self.registry.audit_count(filter.clone(), last).await?;
        if matching == 0 {
            return Err(self.what_hides_all(&filter, ends.last).await?);
        }
        let asked = row_filter(&filter);
        (filter.first, filter.last) = (Some(first), Some(last));
        let range = last.saturating_sub(first).saturating_add(1);
        let has_stubs = format.has_proof() && gaps == ExportGaps::Stubs;
        if has_stubs && range > self.policy.audit.export_stubs_max {
            return Err(too_large(range, self.policy.audit.export_stubs_max));
        }
        if format.has_proof() {
            self.check_rows_are_signed(first, last).await?;
        }
        let note = format!(
            "{}: {matching} of rows {first} to {last}, filter {}",
            match format {
                ExportFormat::Jsonl => format!("{} with {}", format.word(), gaps.word()),
                ExportFormat::Csv | ExportFormat::Otlp => format.word().to_owned(),
            },
            serde_json::to_string(&asked).map_err(|error| ApiError::unwritable(&error))?
        );
        let checkpoint = live.engine.checkpoint(&caller.person, Verb::Exported, note).await?;
        let next = ReadExport {
            filter: fixed(row_filter(&filter)),
            format,
            gaps,
            size: checkpoint.size,
            after: first.saturating_sub(1),
            rows: 0,
            stubs: 0,
            receipts: 0,
        };
        let text = match format {
            ExportFormat::Jsonl => {
                let range = LeafRange { begin: first.saturating_sub(1), end: last };
                self.manifest(asked, gaps, &checkpoint, range).await?
            }
            ExportFormat::Csv => csv_lines::head()?,
            ExportFormat::Otlp => String::new(),
        };
        Ok(ExportBegun { proves: proves(format, &filter, gaps, first, last), next, first, last, matching, text })
    }

    /// Compares the rows with what was signed of them, so that the file says only of rows that they are proven which are.
    async fn check_rows_are_signed(&self, first: u64, last: u64) -> Result<(), ApiError> {
        let Some(BrokenCheckpoint { size, why }) = self.range_fault(first, last).await? else { return Ok(()) };
        Err(ApiError::new(
            Code::Failed,
            format!("the log proves nothing: the checkpoint of row {size} does not hold: {why}"),
            "Keep a copy of the data folder as evidence; `taskwarden audit verify --anchor PLACE` compares the rows with kept \
             checkpoints. `--format csv` writes a copy to read.",
        ))
    }

    /// Why no row matches: the one condition that hides them, if there is one.
    async fn what_hides_all(&self, filter: &AuditFilter, last: u64) -> Result<ApiError, ApiError> {
        if last == 0 {
            return Ok(ApiError::new(
                Code::NotFound,
                "the audit log is empty",
                "A row is written with the first task or setting.",
            ));
        }
        for (option, wider) in without_one(filter) {
            let hidden = self.registry.audit_count(wider, u64::MAX).await?;
            if hidden > 0 {
                return Ok(ApiError::new(
                    Code::NotFound,
                    format!("no row matches: `{option}` hides all of {hidden}"),
                    format!("Change or leave out `{option}`; nothing was written."),
                ));
            }
        }
        Ok(ApiError::new(
            Code::NotFound,
            format!("no row matches these filters together; the log has rows up to {last}"),
            "Leave out some of them; nothing was written.",
        ))
    }

    /// A part of an export, in the order of the rows.
    ///
    /// # Errors
    /// When the registry cannot be read, or rows are not there any more.
    pub async fn audit_export_rows(&self, _caller: &Caller, input: ReadExport) -> Result<ExportPart, ApiError> {
        let filter = self.audit_filter(input.filter.clone()).await?;
        let wanted = match (input.format, input.gaps) {
            (ExportFormat::Jsonl, ExportGaps::Stubs) => {
                AuditFilter { first: filter.first, last: filter.last, ..AuditFilter::default() }
            }
            (ExportFormat::Jsonl, ExportGaps::Hashes) | (ExportFormat::Csv | ExportFormat::Otlp, _) => filter.clone(),
        };
        let query = AuditQuery {
            filter: wanted,
            order: AuditOrder::OldestFirst,
            behind: Some(input.after),
            limit: self.policy.page_rows_max,
        };
        let mut page = self.registry.audit_rows(query).await?;
        let proof = row_filter(&filter);
        let has_calls = input.format.has_proof() && input.gaps == ExportGaps::Hashes && proof.wants_receipts();
        if has_calls {
            self.add_called_rows(&filter, input.after, &mut page).await?;
        }
        let mut part = ExportPart {
            text: String::new(),
            next: None,
            rows: input.rows,
            stubs: input.stubs,
            receipts: input.receipts,
            broken: None,
        };
        let mut ahead = lines::BatchesAhead::default();
        // A row that vouches for calls may be left out below.
        let is_in_file = |row: &AuditRow| !has_calls || row.verb != CALLED || lines::matches(&proof, row);
        part.broken = page.rows.iter().find(|row| !row.fits && is_in_file(row)).map(|row| row.number);
        match (input.format, input.gaps) {
            (ExportFormat::Csv, _) => {
                part.text = csv_lines::rows(&self.audit_row_dtos(&page.rows).await?)?;
                part.rows = part.rows.saturating_add(u64::try_from(page.rows.len()).unwrap_or(u64::MAX));
            }
            (ExportFormat::Otlp, _) => {
                let log = self.registry.sinks().await?.origin;
                part.text = otlp_lines(&log, &page.rows, self.policy.audit.sink_bytes);
                part.rows = part.rows.saturating_add(u64::try_from(page.rows.len()).unwrap_or(u64::MAX));
            }
            (ExportFormat::Jsonl, ExportGaps::Stubs) => {
                for row in &page.rows {
                    if part.text.len() >= self.policy.audit.export_part_bytes {
                        // The part is full; the row before is the last that was looked at.
                        page.next = Some(row.number.saturating_sub(1));
                        break;
                    }
                    let is_row = lines::matches(&proof, row);
                    part.add_row(&lines::row(row, is_row, None)?, is_row);
                    part.add_receipts(self.receipts_of(row, &page.rows, &mut ahead, None).await?);
                }
            }
            (ExportFormat::Jsonl, ExportGaps::Hashes) => {
                for (row, path) in page.rows.iter().zip(self.paths(&page.rows, input.size).await?) {
                    if part.text.len() >= self.policy.audit.export_part_bytes {
                        page.next = Some(row.number.saturating_sub(1));
                        break;
                    }
                    let is_row = is_in_file(row);
                    let receipts = if has_calls {
                        self.receipts_of(row, &page.rows, &mut ahead, Some(&proof)).await?
                    } else {
                        None
                    };
                    if is_row || receipts.is_some() {
                        part.broken = part.broken.or_else(|| (!row.fits).then_some(row.number));
                        part.add_row(&lines::row(row, is_row, Some(path))?, is_row);
                        part.add_receipts(receipts);
                    }
                }
            }
        }
        match page.next {
            Some(after) if filter.last.is_none_or(|last| after < last) => {
                let ExportPart { rows, stubs, receipts, .. } = part;
                part.next = Some(ReadExport { after, rows, stubs, receipts, ..input });
            }
            Some(_) | None if !input.format.has_proof() => {}
            Some(_) | None => {
                let ExportPart { rows, stubs, receipts, .. } = part;
                part.text.push_str(&lines::trailer(Trailer { rows, stubs, receipts })?);
            }
        }
        Ok(part)
    }

    /// Adds the rows that vouch for receipts to a page of rows that match, so that both have the same range.
    async fn add_called_rows(&self, filter: &AuditFilter, after: u64, page: &mut AuditRows) -> Result<(), ApiError> {
        let verbs = vec![CALLED.to_owned()];
        let called = AuditFilter { first: filter.first, last: filter.last, verbs, ..AuditFilter::default() };
        let (order, limit) = (AuditOrder::OldestFirst, self.policy.page_rows_max);
        let called = self.registry.audit_rows(AuditQuery { filter: called, order, behind: Some(after), limit }).await?;
        let upto = page.next.unwrap_or(u64::MAX).min(called.next.unwrap_or(u64::MAX));
        page.rows.extend(called.rows);
        page.rows.retain(|row| row.number <= upto);
        page.rows.sort_by_key(|row| row.number);
        page.rows.dedup_by_key(|row| row.number);
        page.next = Some(upto).filter(|upto| *upto < u64::MAX);
        Ok(())
    }

    /// The row with this number.
    async fn one_row(&self, number: u64) -> Result<AuditRow, ApiError> {
        let filter = AuditFilter { first: Some(number), last: Some(number), ..AuditFilter::default() };
        let query = AuditQuery { filter, order: AuditOrder::OldestFirst, behind: None, limit: 1 };
        let found = self.registry.audit_rows(query).await?.rows.into_iter().next();
        found.ok_or_else(|| missing(number))
    }
}

fn missing(number: u64) -> ApiError {
    ApiError::new(
        Code::Failed,
        format!("row {number} of the audit log is missing"),
        "`taskwarden audit verify` checks the whole log; choose a range without this row with `--first` or `--last`.",
    )
}

fn too_large(range: u64, most: u64) -> ApiError {
    ApiError::new(
        Code::Refused,
        format!("an export with stubs holds every row of its range: {range} of at most {most}"),
        "Choose a smaller range with `--first` and `--last`, or take `--gaps hashes`, which does not prove completeness.",
    )
}
