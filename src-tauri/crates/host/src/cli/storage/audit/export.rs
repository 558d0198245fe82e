//! `taskwarden audit export`: a proven copy of rows, written part by part.
//!
//! The core says what each part holds; this process writes the file, with the rights of whoever runs the command. A file
//! that was not finished does not get its name.

use std::path::PathBuf;

use api::calls::core::export::{ExportAudit, ExportBegun, ExportFormat, ExportGaps, ExportPart};
use api::format::time::count;
use api::{ApiError, Code};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::export_file::ExportFile;
use super::list::{AuditFilterArgs, row_number};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::config::Config;

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatArg {
    /// JSON Lines that `taskwarden-verify` checks.
    Jsonl,
    /// A table for a spreadsheet, which proves nothing.
    Csv,
    /// OpenTelemetry log records, as a sink sends them and a collector reads them from a file; proves nothing.
    Otlp,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum GapsArg {
    /// Other rows are in the file without their text: that none was left out is proven.
    Stubs,
    /// Other rows are not in the file: completeness is not proven.
    Hashes,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// The first row number.
    #[arg(long, value_name = "NUMBER", value_parser = row_number, allow_negative_numbers = true)]
    first: Option<u64>,
    /// The last row number.
    #[arg(long, value_name = "NUMBER", value_parser = row_number, allow_negative_numbers = true)]
    last: Option<u64>,
    /// The format of the file.
    #[arg(long, value_enum, default_value_t = FormatArg::Jsonl)]
    format: FormatArg,
    /// What a file in the format jsonl holds of rows that do not match: stubs unless said otherwise. Stubs show who did
    /// what to what.
    #[arg(long, value_enum)]
    gaps: Option<GapsArg>,
    /// Write to this file instead of standard output. A file of this name is replaced when the new one is complete.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What `audit export --json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Exported {
    file: String,
    first: u64,
    last: u64,
    rows: u64,
    stubs: u64,
    receipts: u64,
    /// The first row whose fields do not give its hash.
    broken: Option<u64>,
    proves: String,
}

/// Where the parts go.
enum Target<'s> {
    Screen(&'s Screen),
    File(ExportFile),
}

impl Target<'_> {
    fn write(&mut self, text: &str) -> Result<(), ApiError> {
        match self {
            Self::Screen(screen) => {
                screen.raw(text.as_bytes());
                Ok(())
            }
            Self::File(file) => file.write(text),
        }
    }
}

pub(crate) async fn export(command: ExportArgs, config: &Config, screen: &Screen) -> CommandResult {
    let ExportArgs { filter, first, last, format, gaps, output } = command;
    if screen.is_json() && output.is_none() {
        return Err(ApiError::new(
            Code::Usage,
            "`--json` describes the export, and the export itself would go to the same place",
            "Give a file with `-o FILE`, or leave out `--json`.",
        ));
    }
    let mut asked = ExportAudit { filter: filter.into(), ..ExportAudit::default() };
    (asked.filter.first, asked.filter.last) = (first, last);
    asked.format = match format {
        FormatArg::Jsonl => ExportFormat::Jsonl,
        FormatArg::Csv => ExportFormat::Csv,
        FormatArg::Otlp => ExportFormat::Otlp,
    };
    if gaps.is_some() && asked.format != ExportFormat::Jsonl {
        return Err(ApiError::new(
            Code::Usage,
            "`--gaps`: a file in this format holds the rows that match and nothing else",
            "Leave out `--gaps`, or take `--format jsonl`.",
        ));
    }
    asked.gaps = match gaps {
        Some(GapsArg::Stubs) | None => ExportGaps::Stubs,
        Some(GapsArg::Hashes) => ExportGaps::Hashes,
    };
    let core = CoreClient::attach(config)?;
    // Before the core records the export: a file that cannot be made is no export.
    let mut target = match &output {
        Some(path) => Target::File(ExportFile::create(path, config.paths.home())?),
        None => Target::Screen(screen),
    };
    let begun: ExportBegun = core.request("audit.export", &asked).await?;
    target.write(&begun.text)?;
    let (mut next, mut broken) = (Some(begun.next), None);
    let (mut rows, mut stubs, mut receipts) = (0, 0, 0);
    while let Some(input) = next {
        let part: ExportPart = core.request("audit.exportRows", &input).await?;
        target.write(&part.text)?;
        broken = broken.or(part.broken);
        (next, rows, stubs, receipts) = (part.next, part.rows, part.stubs, part.receipts);
    }
    if let Target::File(file) = target {
        file.finish()?;
    }
    let proves = broken.map_or(begun.proves, |row| {
        format!("Row {row} does not match its hash: it was changed. The file is evidence of that and verifies nothing.")
    });
    let file = output.map(|path| path.display().to_string()).unwrap_or_default();
    if screen.is_json() {
        let (first, last) = (begun.first, begun.last);
        screen.json(&Exported { file, first, last, rows, stubs, receipts, broken, proves })?;
    } else {
        let place = if file.is_empty() { String::new() } else { format!(" to {file}") };
        let without = match (stubs, asked.gaps) {
            (0, _) => String::new(),
            (_, ExportGaps::Stubs) => format!(" and {} without their text", count(stubs, "row")),
            (1, ExportGaps::Hashes) => " and 1 row that vouches for calls".to_owned(),
            (_, ExportGaps::Hashes) => format!(" and {} that vouch for calls", count(stubs, "row")),
        };
        let calls = if receipts > 0 { format!(" and {}", count(receipts, "receipt")) } else { String::new() };
        screen.note(&format!("Exported {}{without}{calls}{place}.", count(rows, "row")));
        match broken {
            Some(_) => screen.warning(&proves),
            None => screen.note(&proves),
        }
    }
    Ok(if broken.is_some() { FAILED } else { DONE })
}
