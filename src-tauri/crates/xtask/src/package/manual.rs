//! Pages for `man`, one for each command, made from what the packed program says about itself.
//!
//! The program is asked for `--help` of every command that its help lists, so pages never differ from the help, hidden
//! commands stay hidden, and nothing of this is in the program (decision 0099). `manual/help_page.rs` reads one help.

mod help_page;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use help_page::HelpPage;

use super::files::{make_empty, unreadable, unwritable};
use super::part::Part;
use super::programs::PackagedProgram;
use super::release::Release;
use crate::failure::Failure;
use crate::process;

/// What all commands of the headless program have in common and no help says.
const COMMON: &str = "\
.SH ENVIRONMENT
.TP
.B TASKWARDEN_HOME
The data folder. Default:
.I ~/.local/share/taskwarden
";

/// A page by the name of its file, as text.
pub(super) type NamedPage = (String, String);

/// The pages of all programs.
pub(super) fn of_programs(programs: &[PackagedProgram], release: &Release) -> Result<Vec<NamedPage>, Failure> {
    let mut pages = Vec::new();
    for program in programs {
        let common = if program.name == Part::Headless.name() { COMMON } else { "" };
        let mut open: Vec<Vec<String>> = vec![Vec::new()];
        while let Some(command) = open.pop() {
            let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
            words.push("--help");
            let help = said(&program.stripped, &words)?;
            let page = HelpPage::read(&help).ok_or_else(|| {
                let asked = format!("{} {}", program.name, words.join(" "));
                Failure::new(format!("`{asked}` is no help with a usage"), "Change `help_page.rs` with the help.")
            })?;
            for name in page.commands() {
                open.push(command.iter().cloned().chain([name.to_owned()]).collect());
            }
            let name = std::iter::once(program.name).chain(command.iter().map(String::as_str)).collect::<Vec<_>>();
            pages.push((format!("{}.1", name.join("-")), page.to_roff(&name.join("-"), common, release)));
        }
    }
    pages.sort();
    Ok(pages)
}

/// A page that is written by hand, with the day and the version of the release.
pub(super) fn dated(page: &str, release: &Release) -> String {
    page.replace("@DATE@", &release.day).replace("@VERSION@", &release.version)
}

/// What a program prints, as a script reads it: without colours, at the width that help has without a terminal.
pub(super) fn said(program: &Path, words: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).env_remove("COLUMNS").env("NO_COLOR", "1");
    process::output(&mut command, "The program itself says what is wrong; packages need one that runs here.")
}

/// Pages as systems install them: with gzip, without names and times in it.
pub(super) fn compressed(pages: &[NamedPage], work: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    make_empty(work)?;
    let mut gzip = Command::new("gzip");
    gzip.args(["-9", "--no-name"]);
    for (name, page) in pages {
        let path = work.join(name);
        fs::write(&path, page).map_err(|why| unwritable(&path, &why))?;
        gzip.arg(path);
    }
    process::run(&mut gzip, "`gzip` is part of every system that packages are made on.")?;
    let read = |name: &str| {
        let path = work.join(format!("{name}.gz"));
        fs::read(&path).map_err(|why| unreadable(&path, &why))
    };
    pages.iter().map(|(name, _)| Ok((format!("{name}.gz"), read(name)?))).collect()
}
