//! The audit log as an auditor proves it: checkpoints, exports, and what the stand-alone verifier makes of them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::home::{Home, PROGRAM, Ran};

/// Runs the stand-alone verifier, which a build of the workspace puts beside the program.
fn verify(file: &Path, more: &[&str]) -> Ran {
    let name = format!("taskwarden-verify{}", std::env::consts::EXE_SUFFIX);
    let program = Path::new(PROGRAM).with_file_name(name);
    let mut command = Command::new(program);
    // It needs nothing of Taskwarden: not even its surroundings.
    command.env_clear().arg(file).args(more);
    command.output().expect("`cargo build --workspace` makes the verifier").into()
}

/// A file beside the data directory.
fn beside(home: &Home, name: &str) -> PathBuf {
    home.data().with_file_name(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).expect("an export").lines().map(|line| format!("{line}\n")).collect()
}

/// The file with other lines.
fn changed(path: &Path, lines: &[String]) -> PathBuf {
    let other = path.with_extension("changed");
    std::fs::write(&other, lines.concat()).expect("a file");
    other
}

#[test]
fn an_export_is_verified_without_taskwarden_and_each_change_of_it_is_found() {
    let (home, core) = Home::with_demo();
    home.watch(&home.call("tool_error", "{}"));
    let note = home.ok(&["audit", "checkpoint"]).out;
    let anchor = beside(&home, "anchor.notes");
    std::fs::write(&anchor, &note).expect("a copy");
    home.watch(&home.call("tool_error", "{}"));

    let (stubs, hashes) = (beside(&home, "stubs.jsonl"), beside(&home, "hashes.jsonl"));
    let filter = ["audit", "export", "--verb", "admitted", "--server", "demo", "-o"];
    let said = home.ok(&[&filter[..], &[text(&stubs), "--json"]].concat()).json();
    assert_eq!(said["rows"], 2, "{said}");
    assert!(said["proves"].as_str().expect("a sentence").contains("was left out"), "{said}");
    home.ok(&[&filter[..], &[text(&hashes), "--gaps", "hashes"]].concat());

    let found = verify(&stubs, &["--anchor", text(&anchor)]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("agrees with the rows") && found.out.contains("no row of"), "{}", found.out);
    let found = verify(&hashes, &["--anchor", text(&anchor)]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("agrees with the rows"), "a proof of consistency is in the file: {}", found.out);
    let told = home.ok(&["audit", "verify", text(&hashes), "--anchor", text(&anchor), "--json"]).json();
    assert_eq!((&told["verdict"], &told["anchors"][0]["state"]), (&"verified".into(), &"agrees".into()), "{told}");

    let whole = lines(&stubs);
    let row = whole.iter().position(|line| line.starts_with("{\"row\"")).expect("a row");
    let mut missing = whole.clone();
    missing.remove(row);
    let found = verify(&changed(&stubs, &missing), &[]);
    assert_eq!(found.code, Some(1), "a matching row that was removed is found: {found:?}");
    assert!(found.out.contains("the row is missing"), "{}", found.out);

    let mut other = whole.clone();
    other[row] = other[row].replacen("person:", "persom:", 1);
    let found = verify(&changed(&stubs, &other), &[]);
    assert_eq!(found.code, Some(1), "a changed byte is found: {found:?}");

    let found = verify(&changed(&stubs, &whole[..whole.len() - 1]), &[]);
    assert!(found.code == Some(1) && found.out.contains("no trailer"), "a cut file is found: {found:?}");

    let mut fewer = lines(&hashes);
    fewer.remove(1);
    let last = fewer.len() - 1;
    fewer[last] = fewer[last].replace("\"rows\":2", "\"rows\":1");
    let found = verify(&changed(&hashes, &fewer), &[]);
    assert_eq!(found.code, Some(0), "with hashes nobody can know: {found:?}");
    assert!(found.out.contains("Completeness is not proven"), "and the verifier says so: {}", found.out);

    let exported = home.ok(&["audit", "list", "--verb", "exported", "--json"]).json();
    let first = &exported["rows"][1];
    let says = first["note"].as_str().expect("a note");
    assert!(says.contains("jsonl with stubs: 2 of rows 1 to") && says.contains("admitted"), "{exported}");
    drop(core);
}

#[test]
fn a_table_for_a_spreadsheet_has_the_rows_that_match_and_claims_to_prove_nothing() {
    let (home, _core) = Home::with_demo();
    let file = beside(&home, "rows.csv");
    let said = home.ok(&["audit", "export", "--format", "csv", "--verb", "serverAdded", "-o", text(&file)]);
    assert!(said.err.contains("proves nothing"), "{said:?}");
    let written = lines(&file);
    assert!(written[0].starts_with("number,at,who,actor,verb,"), "{written:?}");
    assert_eq!(written.len(), 2, "the one server and nothing else: {written:?}");
    assert!(written[1].contains(",serverAdded,server:") && written[1].contains(",demo,"), "{written:?}");
    let refused = home.run(&["audit", "export", "--format", "csv", "--gaps", "stubs", "-o", text(&file)]);
    assert!(refused.code == Some(2) && refused.err.contains("--gaps"), "{refused:?}");
    let found = verify(&file, &[]);
    assert_eq!(found.code, Some(4), "there is nothing to verify: {found:?}");
    let found = home.run(&["audit", "verify", text(&file), "--json"]);
    assert_eq!(found.code, Some(4), "the command ends as the program does: {found:?}");
    let error: serde_json::Value = serde_json::from_str(&found.err).expect("the error is one JSON object");
    assert!(error["message"].as_str().is_some_and(|said| said.contains("no export")), "{error}");
}

#[test]
fn an_export_that_holds_nothing_or_cannot_be_written_is_refused_and_leaves_nothing() {
    let (home, core) = Home::with_demo();
    let file = beside(&home, "none.jsonl");
    let refused = home.run(&["audit", "export", "--verb", "halted", "--actor", "person", "-o", text(&file)]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.err.contains("`--verb` hides"), "the filter that hides the rows is named: {}", refused.err);
    let folder = file.parent().expect("a folder");
    let left = std::fs::read_dir(folder).expect("a folder").flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().contains("none.jsonl")
    });
    assert_eq!(left.count(), 0, "no file, and none that is half written");
    let refused = home.run(&["audit", "export", "-o", "/nowhere/at/all.jsonl"]);
    assert!(refused.code == Some(2) && refused.err.contains("the folder `/nowhere/at` does not exist"), "{refused:?}");
    let rows = home.ok(&["audit", "list", "--verb", "exported", "--json"]).json();
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(0), "what was refused is not on record: {rows}");
    drop(core);
    let refused = home.run(&["audit", "export", "-o", text(&file)]);
    assert!(refused.code == Some(3) && refused.err.contains("taskwarden serve"), "{refused:?}");
}

#[test]
fn a_lost_key_is_replaced_and_what_it_signed_still_verifies() {
    let home = Home::new();
    let core = home.serve();
    let first = home.ok(&["audit", "checkpoint", "--json"]).json();
    drop(core);
    let secrets = home.data().join("secrets.json");
    let kept = std::fs::read_to_string(&secrets).expect("secrets");
    let mut kept: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&kept).expect("JSON");
    assert!(kept.remove("audit-signing-key").is_some(), "the key lies with the secrets");
    std::fs::write(&secrets, serde_json::to_vec(&kept).expect("JSON")).expect("written");

    let core = home.serve();
    let second = home.ok(&["audit", "checkpoint", "--json"]).json();
    assert_ne!(first["key"], second["key"]);
    let rows = home.ok(&["audit", "list", "--verb", "signingKeyReplaced", "--json"]).json();
    let note = rows["rows"][0]["note"].as_str().expect("a row says so");
    assert!(note.contains(first["key"].as_str().expect("a key")), "{note}");
    drop(core);
    let verified = home.ok(&["audit", "verify", "--json"]).json();
    assert_eq!(verified["checkpoints"]["broken"], serde_json::Value::Null, "{verified}");
    assert!(verified["checkpoints"]["compared"].as_u64().is_some_and(|compared| compared >= 2), "{verified}");
}

#[test]
fn a_row_that_somebody_changed_in_the_registry_is_named_and_its_export_verifies_nothing() {
    let (home, core) = Home::with_demo();
    let note = home.ok(&["audit", "checkpoint"]).out;
    let anchor = beside(&home, "anchor.notes");
    std::fs::write(&anchor, &note).expect("a copy");
    drop(core);
    let change = "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as registry:\n    \
                  registry.execute(\"UPDATE audit SET actor = 'person:mallory' WHERE number = 2\")\n";
    let registry = home.data().join("registry.db");
    let done = Command::new("python3").args(["-c", change]).arg(registry).status().expect("python");
    assert!(done.success(), "the row is changed");

    let _core = home.serve();
    let checked = home.run(&["audit", "verify"]);
    assert_eq!(checked.code, Some(1), "{checked:?}");
    assert!(format!("{checked:?}").contains("row 2"), "the row is named: {checked:?}");
    let file = beside(&home, "evidence.jsonl");
    let exported = home.run(&["audit", "export", "-o", text(&file)]);
    assert_eq!(exported.code, Some(1), "{exported:?}");
    let said = format!("{exported:?}");
    assert!(said.contains("verifies nothing") && !said.contains("proves"), "it claims nothing: {said}");
    let found = verify(&file, &["--anchor", text(&anchor)]);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.out.contains("BROKEN at row 2"), "{}", found.out);
}
