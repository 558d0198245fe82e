//! The verifier in the documentation, in another language and with nothing of ours: it agrees with the program, in each epoch.

use std::path::Path;

use tests::clients::python;
use tests::home::Home;

use crate::PROGRAM;

const PAGE: &str = include_str!("../../src-tauri/docs/audit.md");

/// What the program of the page says of a file, or how it failed.
fn checked(script: &Path, file: &Path) -> Result<String, String> {
    let ran = python("venv", &script.display().to_string()).arg(file).output().expect("python starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    if ran.status.success() { Ok(text(ran.stdout)) } else { Err(text(ran.stderr)) }
}

#[test]
fn the_program_of_the_page_verifies_exports_of_each_epoch_and_finds_what_was_changed() {
    let home = Home::new(PROGRAM);
    let _core = home.serve();
    let (_, program) = PAGE.split_once("```python\n").expect("the page has one program");
    let (program, _) = program.split_once("```").expect("it ends");
    assert!(program.lines().count() <= 80, "it is short enough to be read");
    let script = home.path().join("check.py");
    std::fs::write(&script, program).expect("a file");
    assert_eq!(home.run(["agents", "add", "ant"]).code, 0);
    for epoch in ["", "/2"] {
        let file = home.path().join("rows.jsonl");
        let path = file.display().to_string();
        assert_eq!(home.run(["audit", "export", "--gaps", "hashes", "-o", &path]).code, 0);
        let said = checked(&script, &file).expect("it is genuine");
        let origin = home.run(["audit", "checkpoint"]).out.lines().next().map(str::to_owned).expect("a name");
        assert!(origin.ends_with(epoch) && said.contains(&format!("of {origin} are genuine")), "{origin}: {said}");
        let text = std::fs::read_to_string(&file).expect("an export");
        for (from, to) in
            [("agentAdded", "agentAddex"), ("\\n\\n\u{2014} ", "0\\n\\n\u{2014} "), ("\"path\":[", "\"path\":[\"00\",")]
        {
            let other = text.replacen(from, to, 1);
            assert_ne!(other, text, "`{from}` is there");
            std::fs::write(&file, other).expect("a file");
            assert!(checked(&script, &file).is_err(), "`{from}` was changed");
        }
        assert_eq!(home.run(["audit", "checkpoint", "--new-epoch", "--force", "--yes"]).code, 0);
    }
}
