//! `cargo xtask supply`: what we build from others: known weaknesses, licences, versions twice, and where it comes from.
//!
//! The rules stand in `.config/deny.toml`, in the format of cargo-deny, which is run as well where it is installed; it
//! takes too long to build for every check of a change. Known weaknesses are a snapshot with its date, because not
//! every machine reaches the database. `notices.rs` writes the texts that go into the packages. What only tests use is
//! checked for weaknesses and licences like the rest.

mod advisories;
pub(crate) mod bill;
mod denied;
mod duplicates;
mod licences;
mod lock;
mod metadata;
mod notices;
mod npm;
mod page_packages;
mod rules;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

pub(crate) use advisories::renew;
pub(crate) use notices::write;

/// Checks everything and prints what it finds.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let rules = rules::read(workspace)?;
    let locked = lock::read(&workspace.read("Cargo.lock")?)?;
    let packages = metadata::read(workspace)?;
    let snapshot = advisories::read(workspace)?;
    println!("{} packages; known weaknesses as of {}", locked.len(), snapshot.date);
    let mut findings = lock::check(&locked);
    findings.extend(advisories::check(&snapshot, &locked, &rules));
    findings.extend(denied::check(&locked, &rules));
    findings.extend(duplicates::check(&locked, &rules));
    findings.extend(licences::check(&packages, &rules));
    findings.extend(notices::check(workspace, &packages)?);
    findings.extend(npm::check(workspace)?);
    for finding in &findings {
        println!("{finding}");
    }
    if !findings.is_empty() {
        let hint = "Each line above names its cure; exceptions stand with their reason in `.config/deny.toml`.";
        return Err(Failure::new(format!("{} findings in what we build from others", findings.len()), hint));
    }
    if process::is_there("cargo-deny", &["--version"]) {
        let arguments = ["deny", "--locked", "check", "--config", rules::PATH, "bans", "licenses", "sources"];
        let mut deny = process::program_in(workspace, "cargo", &arguments);
        process::run(&mut deny, "It reads the same rules; what it says above is right.")?;
    }
    Ok(())
}
