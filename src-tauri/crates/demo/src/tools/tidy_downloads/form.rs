//! The form that is shown before files are moved, and what its answer means.
//!
//! The form uses every common kind of field. The answer is untrusted: a field that does not fit ends the run before
//! anything is moved.

use std::path::Path;

use domain::tokens::grouped;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::tools::known_files::{FileKind, KnownFile, KnownFiles};

/// Longest note kept. As in the schema.
const NOTE_CAP_CHARS: usize = 200;
/// Bytes in the form's unit of size.
const KIB_BYTES: f64 = 1_024.0;

/// What to do when a name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clash {
    /// Leave the file where it is.
    Skip,
    /// Move it under a name with a number.
    Number,
}

/// What the person chose.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TidyChoice {
    pub(super) go: bool,
    pub(super) dry_run: bool,
    pub(super) kinds: Vec<FileKind>,
    pub(super) clash: Clash,
    pub(super) at_most: usize,
    pub(super) min_kib: f64,
    pub(super) before: Option<Date>,
    pub(super) note: Option<String>,
}

/// The words above the form.
pub(super) fn message(folder: &Path, plan: &KnownFiles) -> String {
    let kinds: Vec<String> =
        plan.kinds().into_iter().map(|(kind, count)| format!("{} {}", grouped(count as u64), kind.folder())).collect();
    let all = grouped(plan.items.len() as u64);
    // The first sentence is the title of the question: the folder, which may be long, comes after it.
    format!("Move {all} files into sub-folders? {}, in `{}`.", kinds.join(", "), folder.display())
}

/// The `requestedSchema` of the form.
pub(super) fn schema(plan: &KnownFiles, dry_run: bool) -> Value {
    let kinds = plan.kinds();
    let words: Vec<&str> = kinds.iter().map(|(kind, _)| kind.folder()).collect();
    let titled = |(kind, count): &(FileKind, usize)| json!({"const": kind.folder(), "title": format!("{} ({})", kind.folder(), grouped(*count as u64))});
    json!({
        "type": "object",
        "properties": {
            "go": {"type": "boolean", "title": "Go ahead", "default": false,
                   "description": "Without this nothing is touched."},
            "dry_run": {"type": "boolean", "title": "Dry run", "default": dry_run,
                        "description": "Only say what would be moved."},
            "kinds": {"type": "array", "title": "Kinds to move", "minItems": 1, "default": words,
                      "items": {"anyOf": kinds.iter().map(titled).collect::<Vec<_>>()}},
            "clash": {"type": "string", "title": "When a name is taken", "default": "skip",
                      "oneOf": [{"const": "skip", "title": "Leave the file where it is"},
                                {"const": "number", "title": "Add a number to its name"}]},
            "at_most": {"type": "integer", "title": "Files to move at most", "minimum": 1,
                        "maximum": plan.items.len(), "default": plan.items.len()},
            "min_kib": {"type": "number", "title": "Only files of at least this many KiB", "minimum": 0, "default": 0},
            "before": {"type": "string", "format": "date", "title": "Only files last changed before this day (UTC)"},
            "note": {"type": "string", "title": "Note for the result", "maxLength": NOTE_CAP_CHARS},
        },
        "required": ["go", "dry_run"],
    })
}

impl TidyChoice {
    /// Reads the content of an accepted form.
    pub(super) fn read(content: &Map<String, Value>, plan: &KnownFiles) -> Result<Self, String> {
        let given = |name: &str| content.get(name).filter(|value| !value.is_null());
        let truth = |name: &str| match given(name) {
            Some(Value::Bool(yes)) => Ok(*yes),
            Some(_) => Err(format!("`{name}` must be yes or no")),
            None => Err(format!("`{name}` is missing")),
        };
        let kinds = match given("kinds") {
            None => FileKind::ALL.to_vec(),
            Some(words) => kinds(words).ok_or("`kinds` must be a list of the kinds offered")?,
        };
        let clash = match given("clash").map(Value::as_str) {
            None | Some(Some("skip")) => Clash::Skip,
            Some(Some("number")) => Clash::Number,
            Some(_) => return Err("`clash` must be `skip` or `number`".to_owned()),
        };
        let at_most = match given("at_most").map(whole) {
            None => plan.items.len(),
            Some(Some(most)) if most >= 1 => most,
            Some(_) => return Err("`at_most` must be a whole number from 1".to_owned()),
        };
        let min_kib = match given("min_kib").map(Value::as_f64) {
            None => 0.0,
            Some(Some(kib)) if kib >= 0.0 => kib,
            Some(_) => return Err("`min_kib` must be a number from 0".to_owned()),
        };
        let before = match given("before").map(Value::as_str) {
            None | Some(Some("")) => None,
            Some(day) => Some(day.and_then(|day| day.parse().ok()).ok_or("`before` must be a day like 2026-07-28")?),
        };
        let note = match given("note").map(Value::as_str) {
            None | Some(Some("")) => None,
            Some(Some(note)) => Some(domain::policy::plain_text(note, NOTE_CAP_CHARS)),
            Some(None) => return Err("`note` must be a string".to_owned()),
        };
        Ok(Self { go: truth("go")?, dry_run: truth("dry_run")?, kinds, clash, at_most, min_kib, before, note })
    }

    /// Whether this file is to be moved.
    pub(super) fn takes(&self, item: &KnownFile) -> bool {
        let old_enough = self.before.is_none_or(|day| {
            let changed = item.changed.map(|at| at.to_zoned(TimeZone::UTC).date());
            changed.is_some_and(|changed| changed < day)
        });
        old_enough && self.kinds.contains(&item.kind) && item.bytes as f64 >= self.min_kib * KIB_BYTES
    }
}

fn kinds(words: &Value) -> Option<Vec<FileKind>> {
    let kind = |word: &Value| FileKind::ALL.into_iter().find(|kind| Some(kind.folder()) == word.as_str());
    words.as_array()?.iter().map(kind).collect()
}

/// A whole number, also when it is spelled `3.0`.
fn whole(value: &Value) -> Option<usize> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
    Some(number as usize)
}
