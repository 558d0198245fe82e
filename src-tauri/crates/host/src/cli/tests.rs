//! The shape of the command line: its help as people read it, and its usage errors.

mod command_page;

use std::fmt::Write as _;
use std::path::Path;

use super::*;

#[test]
fn the_command_line_is_well_formed() {
    Cli::command().debug_assert();
}

#[test]
fn a_usage_error_is_one_line_and_a_hint() {
    let error = Cli::try_parse_from(["taskwarden", "tasks", "lst"]).expect_err("a typing error");
    let (message, hint) = usage(&error.render().to_string(), "taskwarden tasks");
    assert_eq!(message, "unrecognized subcommand `lst`");
    assert!(hint.contains("`list`"), "the nearest is named: {hint}");
    assert!(!message.contains('\n') && !hint.contains('\n'), "one line each");
}

#[test]
fn a_usage_error_names_the_help_of_the_command_that_was_meant() {
    let told = |args: &[&str]| {
        let error = Cli::try_parse_from(args).expect_err("not as it is written");
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        usage(&error.render().to_string(), &intended_command(&args))
    };
    let (message, hint) = told(&["taskwarden", "--json", "tasks", "list", "--limit", "many"]);
    assert!(message.contains("`many`") && hint.contains("`taskwarden tasks list --help`"), "{message} {hint}");
    let (message, _) = told(&["taskwarden", "budget", "--window"]);
    assert_eq!(message, "unexpected argument `--window` found", "and no second form of the command is in it");
    let (_, hint) = told(&["taskwarden", "frob"]);
    assert_eq!(hint, "`taskwarden --help` lists the commands.");
}

#[test]
fn the_help_of_every_command_is_the_text_that_was_reviewed() {
    let mut command = Cli::command().term_width(100);
    command.build();
    let mut printed = String::new();
    append_help(&mut printed, &mut command);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/tests/help.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&golden, &printed).expect("the golden file is writable");
    }
    let reviewed = std::fs::read_to_string(&golden).unwrap_or_default();
    assert!(printed == reviewed, "the help has changed: run with BLESS=1 and read the diff of {}", golden.display());
}

fn append_help(text: &mut String, command: &mut clap::Command) {
    let name = command.get_bin_name().unwrap_or("taskwarden").to_owned();
    let version = command.get_version().map(str::to_owned);
    let help = command.render_long_help().to_string();
    let help = version.map_or(help.clone(), |version| help.replace(&version, "VERSION"));
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let _ = writeln!(text, "$ {name} --help\n{}\n", lines.join("\n"));
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "help") {
        append_help(text, subcommand);
    }
}
