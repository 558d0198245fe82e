//! `cargo xtask tidy`: the house rules that a program can check.
//!
//! Each check is a pure function from text to findings, so that its tests show that it can fail; this file only
//! reads the workspace and prints. What clippy and rustfmt check is theirs. Rules that need judgement are left to
//! review. There is no list of exceptions: a rule that does not hold is changed for everyone.

mod doc;
mod finding;
mod forbidden;
mod imports;
mod length;
mod literal;
mod lock;
mod manifest;
mod settings;
mod shell;
mod shipped;
mod source;
mod structure;
mod top_level;

use finding::Finding;
use shipped::Shipped;
use source::Source;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Checks the whole workspace and prints what it finds.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let findings = check(workspace)?;
    if findings.is_empty() {
        return Ok(());
    }
    for finding in &findings {
        println!("{finding}");
    }
    let many = if findings.len() == 1 { "rule is" } else { "rules are" };
    Err(Failure::new(format!("{} {many} broken", findings.len()), "Each line above ends with its cure."))
}

fn check(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let files = workspace.files()?;
    let mut findings = top_level::check(&workspace.top_level()?);

    let mut sources = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        sources.push(Source::read(path, &workspace.read(path)?));
    }
    let shipped = Shipped::of(&sources);
    for source in &sources {
        findings.extend(doc::check(source, &shipped));
        findings.extend(literal::check(source, &shipped));
        findings.extend(forbidden::check(source, &shipped));
    }
    findings.extend(shell::check(&sources, &shipped));
    let page = files.iter().any(|path| path == structure::PAGE).then(|| workspace.read(structure::PAGE)).transpose()?;
    findings.extend(structure::check(&sources, &shipped, &files, page.as_deref()));
    for path in files.iter().filter(|path| length::limit(path).is_some()) {
        findings.extend(length::check(path, &workspace.read(path)?));
    }
    for path in files.iter().filter(|path| path.ends_with("Cargo.toml")) {
        findings.extend(imports::check(path, &workspace.read(path)?));
    }
    for path in files.iter().filter(|path| lock::is_lock(path)) {
        findings.extend(lock::check(path, &workspace.read(path)?));
    }
    for path in files.iter().filter(|path| settings::is_settings(path)) {
        findings.extend(settings::check(path, &workspace.read(path)?));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_file_is_found_in_a_whole_workspace() {
        let folder = std::env::temp_dir().join(format!("taskwarden-tidy-{}", std::process::id()));
        let inside = folder.join("src-tauri/crates/domain/src");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(folder.join("Cargo.toml"), "[workspace]\n").unwrap();
        std::fs::write(inside.join("bad.rs"), "fn f() {\n    todo!()\n}\n").unwrap();
        let findings: Vec<String> = check(&Workspace::at(&folder)).unwrap().iter().map(ToString::to_string).collect();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(findings.len(), 2, "no module doc, and a todo: {findings:?}");
        assert!(
            findings.iter().any(|found| found.starts_with("src-tauri/crates/domain/src/bad.rs:2: ")),
            "{findings:?}"
        );
    }
}
