//! Developer commands: `cargo xtask help` lists them.
//!
//! Uses the standard library and three small crates (ruling 35), so that it builds in seconds on a fresh clone, and none
//! of ours. It ships nothing. `tidy.rs` holds the house rules that a program can check, `checks.rs` what CI runs,
//! `supply.rs` what we build from others, `run.rs` the first minutes of a new developer, `page.rs` and `journeys.rs` what people see, `campaigns/`
//! the long runs, `setup/` what a fresh machine misses.

mod bindings;
mod campaigns;
mod checks;
mod failure;
mod journeys;
mod package;
mod page;
mod process;
mod run;
mod setup;
mod supply;
mod table;
mod tidy;
mod workspace;

use std::ffi::OsString;
use std::process::ExitCode;

use campaigns::{agents, bench, conformance, torture};
use failure::Failure;
use setup::install;
use workspace::Workspace;

const HELP: &str = "\
cargo xtask run           build and open the window; without a display, serve the same page to a browser
cargo xtask test          everything CI checks, two steps at a time; installs what is missing
cargo xtask test STEP...  some of its steps, such as `build` or `page checks`, with their output here
cargo xtask tidy          the house rules: imports, module docs, lengths, literals, lock files
cargo xtask supply        known weaknesses, licences and sources of what we build from others
cargo xtask licenses      write the licence texts that go into the packages
cargo xtask advisories    renew the snapshot of known weaknesses, over the network
cargo xtask page          build the user interface if it changed
cargo xtask stories       look at every story in both themes and at all sizes; `test` looks at a sample
cargo xtask bindings      write the types of calls and frames as TypeScript, after a change of the api
cargo xtask window        drive the built window: demo, content policy, notification
cargo xtask screenshots   pictures of every screen in both themes, into target/screenshots
cargo xtask peers         install the servers and clients that the integration tests talk to
cargo xtask package [--headless | --desktop] [--publish]  deb, rpm and tar packages of a release build, into target/packages
cargo xtask conformance   the official conformance runner, before and behind the gateway
cargo xtask bench [PART...]  the performance table, or parts of it, in release mode: `bench gateway`
cargo xtask torture [N]   kill the core at N random moments (1000), guess a million handles
cargo xtask torture agents [FILTER...]  four real agent programs in every scenario, or in some: --program codex
cargo xtask help          this text";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().and_then(|first| first.to_str()).is_some_and(checks::compiler::is_compile) {
        return if checks::compiler::compile(&arguments) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let arguments: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[String]) -> Result<(), Failure> {
    let mut words = arguments.iter().map(String::as_str);
    let name = words.next().unwrap_or("help");
    let rest: Vec<&str> = words.collect();
    if matches!(name, "help" | "--help" | "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let workspace = Workspace::find()?;
    match (name, rest.as_slice()) {
        ("run", []) => run::run(&workspace),
        ("test", []) => checks::run(&workspace),
        ("test", steps) => checks::run_some(&workspace, steps),
        ("page", []) => page::build(&workspace),
        ("stories", []) => page::stories(&workspace),
        ("bindings", []) => bindings::write(&workspace),
        ("window", []) => journeys::window(&workspace),
        ("screenshots", []) => journeys::screenshots(&workspace),
        ("package", words) => package::run(&workspace, words),
        ("peers", []) => install::peers(&workspace),
        ("tidy", []) => tidy::run(&workspace),
        ("supply", []) => supply::check(&workspace),
        ("licenses", []) => supply::write(&workspace),
        ("advisories", []) => supply::renew(&workspace),
        ("conformance", []) => conformance::run(&workspace),
        ("bench", parts) => bench::run(&workspace, parts),
        ("torture", []) => torture::run(&workspace, torture::KILLS),
        ("torture", ["agents", filter @ ..]) => agents::run(&workspace, filter),
        ("torture", [kills]) => torture::run(&workspace, torture::parse(kills)?),
        _ => {
            let given = arguments.join(" ");
            Err(Failure::new(format!("there is no command `{given}`"), "`cargo xtask help` lists the commands."))
        }
    }
}
