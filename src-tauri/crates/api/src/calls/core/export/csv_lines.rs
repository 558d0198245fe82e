//! The lines of an export for a spreadsheet: RFC 4180, with names beside the ids. It proves nothing.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and texts of servers and agents are in
//! these cells; such a cell gets an apostrophe before it.

use std::borrow::Cow;

use crate::dto::core::audit::AuditRowDto;
use crate::error::{ApiError, Code};

const COLUMNS: [&str; 12] =
    ["number", "at", "who", "actor", "verb", "subject", "server", "agent", "note", "detail", "hash", "fits"];

/// The first line.
pub(super) fn head() -> Result<String, ApiError> {
    lines([COLUMNS.map(Cow::Borrowed)])
}

pub(super) fn rows(rows: &[AuditRowDto]) -> Result<String, ApiError> {
    lines(rows.iter().map(|row| {
        let detail: Vec<String> = row.detail.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        [
            row.number.to_string().into(),
            cell(&row.at),
            cell(&row.who),
            cell(&row.actor),
            cell(&row.verb),
            cell(&row.subject),
            cell(row.server.as_deref().unwrap_or_default()),
            cell(row.agent.as_deref().unwrap_or_default()),
            cell(row.note.as_deref().unwrap_or_default()),
            Cow::Owned(cell(&detail.join("; ")).into_owned()),
            cell(&row.hash),
            row.fits.to_string().into(),
        ]
    }))
}

fn cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn lines<'a>(records: impl IntoIterator<Item = [Cow<'a, str>; COLUMNS.len()]>) -> Result<String, ApiError> {
    let failed = |why: &dyn std::fmt::Display| {
        ApiError::new(Code::Failed, format!("the rows cannot be written as CSV: {why}"), "Export them as `jsonl`.")
    };
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for record in records {
        writer.write_record(record.iter().map(|cell| cell.as_bytes())).map_err(|why| failed(&why))?;
    }
    let bytes = writer.into_inner().map_err(|why| failed(&why))?;
    String::from_utf8(bytes).map_err(|why| failed(&why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_taken_for_a_formula_and_quotes_and_line_breaks_stay_in_their_cell() {
        let row = AuditRowDto {
            number: 7,
            at: "2026-11-27T00:00:00.000Z".into(),
            who: "=1+1".into(),
            actor: "person:=1+1".into(),
            verb: "admitted".into(),
            subject: "store".into(),
            server: Some("@cmd".into()),
            agent: None,
            note: Some("-2\r\nsays \"no\", twice".into()),
            detail: [("door".to_owned(), "terminal".to_owned())].into(),
            layout: 2,
            hash: "00ff".into(),
            fits: true,
        };
        let text = rows(&[row]).expect("it is written");
        let mut read = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let cells = read.records().next().expect("one row").expect("it reads");
        let cells: Vec<&str> = cells.iter().collect();
        assert_eq!(cells.len(), COLUMNS.len());
        assert_eq!((cells[2], cells[6], cells[9]), ("'=1+1", "'@cmd", "door: terminal"));
        assert_eq!(cells[8], "'-2\r\nsays \"no\", twice");
        assert!(text.ends_with("\r\n"), "{text:?}");
        assert!(head().expect("it is written").starts_with("number,at,who,"));
    }
}
