//! The page of the documentation about the command line names every command with every option.

use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::Cli;

/// A section of the page.
struct Section {
    /// What is said outside of code blocks: it may be about any command of the section.
    prose: String,
    /// Each command of the code blocks, as it is written, with the lines that continue it.
    synopses: Vec<String>,
}

impl Section {
    fn of(text: &str) -> Self {
        let (mut prose, mut synopses, mut is_code) = (String::new(), Vec::<String>::new(), false);
        for line in text.lines() {
            match (line.strip_prefix("taskwarden "), synopses.last_mut()) {
                _ if line.starts_with("```") => is_code = !is_code,
                (Some(command), _) if is_code => synopses.push(command.to_owned()),
                (None, Some(begun)) if is_code => begun.push_str(line),
                _ => prose.extend([line, "\n"]),
            }
        }
        Self { prose, synopses }
    }

    /// The synopsis of a command. `servers restart NAME | end NAME` is that of two.
    fn synopsis(&self, words: &str) -> Option<&str> {
        let is_it = |line: &str| line == words || line.starts_with(&format!("{words} "));
        let others = |line: &str| {
            let group = line.split_whitespace().next().unwrap_or_default();
            line.split(" | ").skip(1).any(|other| is_it(&format!("{group} {other}")))
        };
        self.synopses.iter().map(String::as_str).find(|line| is_it(line) || others(line))
    }
}

fn sections() -> Vec<Section> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/command-line.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    page.split("\n## ").map(Section::of).collect()
}

/// Every command that does something, by its words after `taskwarden`.
fn leaves(command: &Command, words: &str, found: &mut Vec<(String, Vec<Arg>)>) {
    let visible = || command.get_subcommands().filter(|one| one.get_name() != "help" && !one.is_hide_set());
    if visible().next().is_none() || !command.is_subcommand_required_set() && !words.is_empty() {
        let options = command.get_arguments().filter(|arg| !arg.is_hide_set() && !arg.is_global_set());
        found.push((words.to_owned(), options.cloned().collect()));
    }
    for one in visible() {
        leaves(one, format!("{words} {}", one.get_name()).trim_start(), found);
    }
}

/// Whether the text holds this option, and not only a longer one that begins like it.
fn names(text: &str, option: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '-');
    text.match_indices(option).any(|(at, _)| ends(text.get(at + option.len()..).unwrap_or_default()))
}

#[test]
fn the_page_names_every_command_with_every_option() {
    let mut command = Cli::command();
    command.build();
    let (sections, mut known, mut missing) = (sections(), Vec::new(), Vec::new());
    leaves(&command, "", &mut known);
    assert!(known.len() > 40, "the commands are found: {}", known.len());
    for (words, options) in known {
        let of: Vec<(&Section, &str)> =
            sections.iter().filter_map(|section| Some((section, section.synopsis(&words)?))).collect();
        if of.is_empty() {
            missing.push(format!("taskwarden {words}"));
            continue;
        }
        for option in options.iter().filter_map(Arg::get_long).filter(|long| *long != "help") {
            let option = format!("--{option}");
            let is_named =
                |(section, synopsis): &(&Section, &str)| names(synopsis, &option) || names(&section.prose, &option);
            if !of.iter().any(is_named) {
                missing.push(format!("taskwarden {words} {option}"));
            }
        }
    }
    assert!(missing.is_empty(), "src-tauri/docs/command-line.md does not name:\n{}", missing.join("\n"));
}
