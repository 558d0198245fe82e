//! Whoever has the registry and no key writes its audit log anew, with every hash that needs no key: it is told, the core does
//! not sign it, and a person who goes on from there leaves a row that says so.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use tests::home::{Home, wait_for};

use crate::PROGRAM;

/// Another actor in row 2, all hashes of the chain, and nothing left of the tree, of checkpoints and of how far the log was
/// verified.
const REWRITE: &str = r#"
import hashlib, sqlite3, sys

def field(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return len(data).to_bytes(8, "big") + data

with sqlite3.connect(sys.argv[1]) as registry:
    registry.execute("UPDATE audit SET actor = 'person:mallory' WHERE number = 2")
    find = "SELECT number, at, actor, verb, subject, server, agent, commitment FROM audit ORDER BY number"
    previous = bytes(32)
    for number, *rest, server, agent, commitment in registry.execute(find).fetchall():
        fields = ["taskwarden audit 2", number, *rest, server or "", agent or "", commitment]
        found = hashlib.sha256(previous + b"".join(map(field, fields))).digest()
        registry.execute("UPDATE audit SET previous = ?, hash = ? WHERE number = ?", (previous, found, number))
        previous = found
    registry.execute("UPDATE store SET audit_hash = ?, audit_frontier = NULL, verified_mark = NULL", (previous,))
    registry.execute("DELETE FROM audit_nodes")
    registry.execute("DELETE FROM checkpoints")
"#;

/// Makes one change of many to the rows, by its number, and prints the row at which it is to be found: another value in a column
/// of row 2, whatever column, or a row that is removed, swapped or put in, also with the hashes that it must have.
const CHANGES: &str = r#"
import hashlib, sqlite3, sys

def other(value):
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, int):
        return value + 1000
    return chr(ord(value[0]) ^ 1) + value[1:] if value else "x"

def field(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return len(data).to_bytes(8, "big") + data

with sqlite3.connect(sys.argv[1]) as registry:
    names = [row[1] for row in registry.execute("PRAGMA table_info(audit)")]
    find = "SELECT * FROM audit WHERE number = ?"
    second = dict(zip(names, registry.execute(find, (2,)).fetchone()))
    last = registry.execute("SELECT max(number) FROM audit").fetchone()[0]
    end = dict(zip(names, registry.execute(find, (last,)).fetchone()))
    insert = f"INSERT INTO audit ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"
    follows = {**second, "number": last + 1, "previous": end["hash"]}
    fields = ["taskwarden audit 2"] + [follows[name] for name in ("number", "at", "actor", "verb", "subject")]
    fields += [follows["server"] or "", follows["agent"] or "", follows["commitment"]]
    follows["hash"] = hashlib.sha256(end["hash"] + b"".join(map(field, fields))).digest()
    changes = [(2, [(f"UPDATE audit SET {name} = ? WHERE number = 2", (other(second[name]),))]) for name in names]
    changes += [
        (2, [("DELETE FROM audit WHERE number = 2", ())]),
        (last, [("DELETE FROM audit WHERE number = ?", (last,))]),
        (2, [(f"UPDATE audit SET number = {to} WHERE number = {of}", ()) for of, to in ((2, -1), (3, 2), (-1, 3))]),
        (3, [
            ("UPDATE audit SET number = -number WHERE number > 2", ()),
            ("UPDATE audit SET number = 1 - number WHERE number < 0", ()),
            (insert, tuple({**second, "number": 3}.values())),
        ]),
        (last + 1, [(insert, tuple(follows.values()))]),
    ]
    nth = int(sys.argv[2])
    if nth < len(changes):
        row, statements = changes[nth]
        for statement in statements:
            registry.execute(*statement)
        print(row, statements[0][0])
"#;

/// Runs a program on the registry of a core that has ended.
fn change(home: &Home, program: &str) {
    let registry = home.data().join("registry.db");
    let done = Command::new("python3").args(["-c", program]).arg(registry).status().expect("python");
    assert!(done.success(), "the registry is changed");
}

#[test]
fn a_log_that_was_written_anew_without_the_key_is_told_and_not_signed_until_a_person_begins_an_epoch() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    for agent in ["ant", "bee", "cat"] {
        assert_eq!(home.run(["agents", "add", agent]).code, 0);
    }
    let signed = home.run(["audit", "checkpoint"]);
    assert_eq!(signed.code, 0, "{signed:?}");
    let kept = home.path().join("kept.notes").display().to_string();
    std::fs::write(&kept, &signed.out).expect("a file");
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    assert_eq!(home.run(["audit", "verify"]).code, 0, "untouched it holds");
    change(&home, REWRITE);

    let verified = home.run(["audit", "verify", "--anchor", &kept]);
    assert_eq!(verified.code, 1, "{verified:?}");
    for word in [
        "The hashes of the rows fit each other",
        "all checkpoints were removed",
        "another root: rows up to it were changed",
    ] {
        assert!(verified.out.contains(word), "its chain fits, and `{word}`: {verified:?}");
    }
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("all checkpoints were removed"), "{doctor:?}");

    let _core = home.serve();
    assert_eq!(home.run(["agents", "add", "dog"]).code, 0, "decisions go on");
    wait_for(
        "the core says that it does not sign",
        || home.core_log().contains("cannot be signed").then_some(()),
        || home.core_log(),
    );
    let asked = home.run(["audit", "checkpoint"]);
    assert!(asked.code != 0 && asked.err.contains("is not signed") && asked.err.contains("--new-epoch"), "{asked:?}");
    let file = home.path().join("rows.jsonl").display().to_string();
    let exported = home.run(["audit", "export", "-o", &file]);
    assert!(exported.code != 0 && exported.err.contains("proves nothing"), "{exported:?}");
    let verified = home.run(["audit", "verify"]);
    assert!(verified.code == 1 && verified.out.contains("all checkpoints were removed"), "{verified:?}");

    let begun = home.run(["audit", "checkpoint", "--new-epoch", "--yes", "--reason", "no backup"]);
    assert_eq!(begun.code, 0, "{begun:?}");
    let rows = home.json(["audit", "list", "--verb", "epochBegun", "--json"]);
    let note = rows["rows"][0]["note"].as_str().expect("a row says so");
    assert!(note.contains("all checkpoints were removed") && note.contains("no backup"), "{note}");
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "the log is signed again: {verified:?}");
    let verified = home.run(["audit", "verify", "--anchor", &kept]);
    assert!(verified.code == 1 && verified.out.contains("it forked"), "the anchor still tells: {verified:?}");
}

#[test]
fn a_row_that_was_verified_before_and_is_changed_later_is_named_by_doctor() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    for agent in ["ant", "bee", "cat"] {
        assert_eq!(home.run(["agents", "add", agent]).code, 0);
    }
    for _ in 0..2 {
        let doctor = home.run(["doctor"]);
        assert!(doctor.out.contains("verified to row"), "the log is verified: {doctor:?}");
    }
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    change(
        &home,
        "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as registry:\n    \
         registry.execute(\"UPDATE audit SET actor = 'person:mallory' WHERE number = 2\")\n",
    );
    let _core = home.serve();
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("row 2 of the audit log does not fit"), "{doctor:?}");
}

/// The row and the words of the change with this number; `None` behind the last one.
fn change_nth(registry: &Path, nth: usize) -> Option<(u64, String)> {
    let mut program = Command::new("python3");
    program.args(["-c", CHANGES]).arg(registry).arg(nth.to_string());
    let done = program.output().expect("python");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let said = String::from_utf8(done.stdout).expect("text");
    let (row, what) = said.trim_end().split_once(' ')?;
    Some((row.parse().expect("a number"), what.to_owned()))
}

#[test]
fn a_change_of_any_column_and_a_row_that_is_removed_swapped_or_put_in_is_found_at_its_row() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    for agent in ["ant", "bee", "cat"] {
        assert_eq!(home.run(["agents", "add", agent]).code, 0);
    }
    assert_eq!(home.run(["audit", "checkpoint"]).code, 0);
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    let registry = home.data().join("registry.db");
    let sound = std::fs::read(&registry).expect("the registry");
    let mut made = 0;
    while let Some((row, what)) = change_nth(&registry, made) {
        let verified = home.run(["audit", "verify", "--json"]);
        assert_eq!(verified.code, 1, "`{what}` is found: {verified:?}");
        assert_eq!(verified.json()["broken"]["number"], row, "`{what}`: {verified:?}");
        for left in ["registry.db-wal", "registry.db-shm"] {
            // What is not there need not go.
            let _ = std::fs::remove_file(home.data().join(left));
        }
        std::fs::write(&registry, &sound).expect("the registry as it was");
        made += 1;
    }
    assert!(made > 20, "{made} changes");
    assert_eq!(home.run(["audit", "verify"]).code, 0, "as it was it holds");
}

#[test]
fn words_of_a_newer_version_are_verified_and_shown_as_they_stand_and_no_cell_of_a_table_is_a_formula() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    for agent in ["ant", "bee", "cat"] {
        assert_eq!(home.run(["agents", "add", agent]).code, 0);
    }
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    change(&home, &REWRITE.replace("actor = 'person:mallory'", "actor = '=1+1', verb = 'verbOfTomorrow'"));
    let _core = home.serve();
    let begun = home.run(["audit", "checkpoint", "--new-epoch", "--yes"]);
    assert_eq!(begun.code, 0, "a person goes on from these rows: {begun:?}");
    let verified = home.run(["audit", "verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
    let shown = home.json(["audit", "show", "2", "--json"]);
    assert_eq!((&shown["row"]["verb"], &shown["row"]["fits"]), (&json!("verbOfTomorrow"), &json!(true)), "{shown}");
    let file = home.path().join("rows").display().to_string();
    assert_eq!(home.run(["audit", "export", "-o", &file]).code, 0);
    assert_eq!(home.run(["audit", "verify", &file]).code, 0, "an export with the row is verified");
    assert_eq!(home.run(["audit", "export", "--format", "csv", "-o", &file]).code, 0);
    let table = std::fs::read_to_string(&file).expect("a table");
    assert!(table.contains(",'=1+1,verbOfTomorrow,") && !table.contains(",=1+1"), "{table}");
}

#[test]
fn newest_rows_that_were_cut_off_with_their_checkpoints_are_missed() {
    let home = Home::new(PROGRAM);
    let core = home.serve();
    assert_eq!(home.run(["agents", "add", "ant"]).code, 0);
    let first = home.json(["audit", "checkpoint", "--json"])["size"].as_u64().expect("a size");
    assert_eq!(home.run(["agents", "add", "bee"]).code, 0);
    let kept = home.path().join("kept.notes").display().to_string();
    std::fs::write(&kept, home.run(["audit", "checkpoint"]).out).expect("a file");
    assert_eq!(core.stop(), Some(0), "the core is shut down");
    change(
        &home,
        &format!(
            "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as registry:\n    registry.executescript(\"\"\"\
             DELETE FROM audit WHERE number > {first}; DELETE FROM checkpoints WHERE size > {first}; \
             UPDATE store SET audit_frontier = NULL, audit_number = {first}, verified_mark = NULL, \
             audit_hash = (SELECT hash FROM audit WHERE number = {first})\"\"\")\n"
        ),
    );
    let verified = home.run(["audit", "verify"]);
    let word = format!("checkpoints after row {first} were removed");
    assert!(verified.code == 1 && verified.out.contains(&word), "{verified:?}");
    let verified = home.run(["audit", "verify", "--anchor", &kept]);
    let told = verified.out.lines().find(|line| line.contains("kept.notes")).unwrap_or_default();
    assert!(told.contains("Keep a copy of both"), "a checkpoint that was kept covers rows that are gone: {verified:?}");
}
