//! The figures of the last run of each part, kept in `target/bench/NAME.json`.
//!
//! A run writes its own over them when it is through, with what else the machine did; the file's own time says when.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Measured, rounded};
use crate::failure::Failure;
use crate::workspace::Workspace;

const FOLDER: &str = "bench";

/// The last run of one part; empty when there was none, or it cannot be read.
#[derive(Debug, Default)]
pub(super) struct Former {
    /// What the table shows of it, by metric.
    figures: BTreeMap<String, String>,
    told: Option<String>,
}

impl Former {
    pub(super) fn read(workspace: &Workspace, name: &str) -> Self {
        let path = workspace.target().join(FOLDER).join(format!("{name}.json"));
        std::fs::read_to_string(path).ok().and_then(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Option<Self> {
        let whole: Value = serde_json::from_str(text).ok()?;
        let rows = whole.get("rows")?.as_array()?;
        let figures = rows.iter().filter_map(|row| Some((row.get("metric")?.as_str()?.to_owned(), shown(row)?)));
        let told = whole.get("beside").and_then(Value::as_str).map(str::to_owned);
        Some(Self { figures: figures.collect(), told })
    }

    /// Our figure of then, with its ratio to the reference of then.
    pub(super) fn figure(&self, metric: &str) -> Option<String> {
        self.figures.get(metric).cloned()
    }

    /// What the machine did then.
    pub(super) fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }
}

fn shown(row: &Value) -> Option<String> {
    let number = |name: &str| row.get(name).and_then(Value::as_f64).map(|value| rounded(&value.to_string()));
    let ours = number("ours")?;
    Some(match number("ratio") {
        Some(ratio) => format!("{ours} ({ratio} ×)"),
        None => ours,
    })
}

/// Keeps a run for the next one to be compared with.
pub(super) fn write(workspace: &Workspace, name: &str, measured: &[Measured], beside: &str) -> Result<(), Failure> {
    let folder = workspace.target().join(FOLDER);
    let rows: Vec<Value> = measured.iter().map(|line| Value::Object(object(line))).collect();
    let whole = json!({"part": name, "beside": beside, "rows": rows});
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("{name}.json")), format!("{whole:#}\n")));
    written.map_err(|why| Failure::new(format!("the figures cannot be kept: {why}"), "Check the disk."))
}

/// The members of a line as JSON; numbers become numbers again.
fn object(line: &Measured) -> Map<String, Value> {
    let value = |name: &str, text: &Option<String>| match text {
        None => Value::Null,
        Some(text) if matches!(name, "metric" | "unit" | "aim" | "note") => json!(text),
        Some(text) => text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number)),
    };
    line.members.iter().map(|(name, text)| (name.clone(), value(name, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_again_by_its_metrics() {
        let folder = std::env::temp_dir().join(format!("taskwarden-bench-{}", std::process::id()));
        let workspace = Workspace::at(&folder);
        let line =
            r#"{"metric":"calls/s","reference":200,"ours":150.4,"ratio":0.752,"unit":"/s","aim":"","note":null}"#;
        let lines = [line, r#"{"metric":"memory","ours":12.345}"#].map(|line| Measured::read(line).unwrap());
        write(&workspace, "x", &lines, "load 0.5").unwrap();
        let former = Former::read(&workspace, "x");
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(former.figure("calls/s").as_deref(), Some("150 (0.75 ×)"), "ours and its ratio");
        assert_eq!(former.figure("memory").as_deref(), Some("12.3"), "without a reference there is no ratio");
        assert_eq!(former.told(), Some("load 0.5"));
        assert_eq!(Former::read(&workspace, "y").figure("memory"), None, "a part that never ran has nothing");
    }
}
