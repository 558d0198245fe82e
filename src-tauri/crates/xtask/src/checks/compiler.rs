//! One compile for programs, lints and documentation.
//!
//! `cargo clippy`, `cargo doc` and `cargo build` each read every crate again, and the first two also check every
//! dependency once more than the build compiles it. Cargo can be told to call another program in the place of rustc for
//! the crates of a workspace (`RUSTC_WORKSPACE_WRAPPER`). Here that program is ourselves: [`compile`] runs clippy's
//! compiler, which is rustc with more lints, or rustc alone, and then rustdoc with the same arguments.
//!
//! Clippy reads a library once, with its tests: they are compiled with all of it (`tidy` asks that every library has
//! them). Clippy also turns off what rustc does to every program before LLVM gets it, so a library is made faster
//! without it (decision 0121).

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::process;
use crate::workspace::Workspace;

/// `-D warnings` as `cargo clippy` hands it to its compiler (clippy 1.95).
const CLIPPY_LINTS: &str = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
/// Where the compilers of the toolchain are: set for cargo, read by us when cargo calls us as its compiler.
const COMPILERS: &str = "TASKWARDEN_COMPILERS";
/// Where rustdoc writes.
const PAGES: &str = "TASKWARDEN_PAGES";
/// Examples that tests start. The others are programs of `cargo xtask bench`, which makes them in release mode.
const STARTED_EXAMPLES: [&str; 1] = ["keep"];
/// This program: the one that runs is another compile, by a cargo that was started without it.
const OURSELVES: &str = "taskwarden_xtask";
/// Of rustc's arguments that say one thing and its value, those that rustdoc needs: what is read, and how.
const OF_RUSTDOC: [&str; 11] = [
    "--allow",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--crate-name",
    "--crate-type",
    "--deny",
    "--edition",
    "--extern",
    "--forbid",
    "--warn",
];

/// A cargo whose compiler of the workspace is [`compile`]. Every command that uses what such a cargo built has to come
/// from here too: cargo compiles anew for another compiler.
pub(crate) fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<Command, Failure> {
    let compilers = compilers(workspace)?;
    let mut command = process::cargo(workspace, arguments);
    command
        .env("RUSTC_WORKSPACE_WRAPPER", copy_of_us(workspace)?)
        .env("CLIPPY_ARGS", CLIPPY_LINTS)
        .env(COMPILERS, compilers)
        .env(PAGES, workspace.target().join("doc"));
    Ok(command)
}

/// A copy of this program: the build of the workspace puts another program in our place while it runs.
pub(crate) fn copy_of_us(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.target().join("checks");
    let copy = folder.join(format!("xtask{}", std::env::consts::EXE_SUFFIX));
    let make = || {
        let own = std::env::current_exe()?;
        if own == copy {
            return Ok(());
        }
        fs::create_dir_all(&folder)?;
        // Renamed into its place, because a program that runs cannot be written.
        let new = folder.join(format!("xtask-{}", std::process::id()));
        fs::copy(own, &new)?;
        fs::rename(&new, &copy)
    };
    make().map_err(|why: std::io::Error| {
        Failure::new(format!("`{}` cannot be written: {why}", copy.display()), "Check the disk.")
    })?;
    Ok(copy)
}

/// The folder of the toolchain's compilers.
fn compilers(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let hint = "Run `rustup component add clippy`, or take a toolchain that has it.";
    let said = process::program_in(workspace, "rustc", &["--print", "sysroot"]).output();
    let said = said.map_err(|why| Failure::new(format!("`rustc` could not be started: {why}"), hint))?.stdout;
    let folder = Path::new(String::from_utf8_lossy(&said).trim()).join("bin");
    if program(&folder, "clippy-driver").is_file() {
        return Ok(folder);
    }
    Err(Failure::new(format!("`{}` has no `clippy-driver`", folder.display()), hint))
}

/// Whether cargo calls us in the place of the compiler that the first argument names.
pub(crate) fn is_compile(first: &str) -> bool {
    std::env::var_os(COMPILERS).is_some() && Path::new(first).file_stem().is_some_and(|stem| stem == "rustc")
}

/// Compiles and lints what rustc would compile, then writes its documentation, with every warning as an error. Whether
/// both passed; what they have to say goes to cargo, which shows it.
pub(crate) fn compile(arguments: &[OsString]) -> bool {
    let folder = PathBuf::from(std::env::var_os(COMPILERS).unwrap_or_default());
    let is_passed = |command: &mut Command| command.status().is_ok_and(|status| status.success());
    let written = arguments.iter().skip(1).map(|word| word.to_str()).collect::<Option<Vec<_>>>();
    let mut clippy = Command::new(program(&folder, "clippy-driver"));
    let is_made = if let Some((of_check, place)) = written.as_deref().and_then(of_check) {
        // Cargo compiles a target anew whose output is not there, so something lies where the program would.
        is_passed(clippy.args(arguments.first()).args(of_check)) && fs::write(place, "").is_ok()
    } else if written.as_deref().is_some_and(is_library) {
        let mut rustc = Command::new(program(&folder, "rustc"));
        is_passed(rustc.args(arguments.iter().skip(1)).args(["-D", "warnings"]))
    } else {
        is_passed(clippy.args(arguments))
    };
    if !is_made {
        return false;
    }
    let Some(of_rustdoc) = written.and_then(|words| of_rustdoc(&words)) else { return true };
    let mut rustdoc = Command::new(program(&folder, "rustdoc"));
    rustdoc.args(of_rustdoc).args(["-D", "warnings", "-o"]).arg(std::env::var_os(PAGES).unwrap_or_default());
    is_passed(&mut rustdoc)
}

fn program(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Whether rustc is asked for a library, of which its tests are another compile. Macros run in the compiler and have no
/// tests here.
fn is_library(arguments: &[&str]) -> bool {
    arguments.windows(2).any(|pair| pair == ["--crate-type", "lib"]) && !arguments.contains(&"--test")
}

/// The arguments of rustc that check what nothing starts without making a program of it, and where cargo looks for the
/// program; nothing for everything else.
fn of_check(arguments: &[&str]) -> Option<(Vec<String>, PathBuf)> {
    let value_of = |name: &str| {
        let at = arguments.iter().position(|word| *word == name)?;
        arguments.get(at + 1).copied()
    };
    let (name, folder) = (value_of("--crate-name")?, Path::new(value_of("--out-dir")?));
    let is_started = if folder.ends_with("examples") {
        STARTED_EXAMPLES.contains(&name)
    } else {
        name != OURSELVES || arguments.contains(&"--test")
    };
    if is_started {
        return None;
    }
    let suffix = arguments.iter().find_map(|word| word.strip_prefix("extra-filename="))?;
    let of_check = arguments.iter().map(|word| match word.split_once('=') {
        Some(("--emit", _)) => "--emit=dep-info,metadata".to_owned(),
        // Without word of each file it writes: cargo waits for a program, not for metadata.
        Some(("--json", said)) => {
            let kinds: Vec<_> = said.split(',').filter(|kind| *kind != "artifacts").collect();
            format!("--json={}", kinds.join(","))
        }
        Some(_) | None => (*word).to_owned(),
    });
    Some((of_check.collect(), folder.join(format!("{name}{suffix}{}", std::env::consts::EXE_SUFFIX))))
}

/// The arguments of rustdoc for what rustc was asked to compile; nothing for what has no pages: tests, examples, build
/// scripts, and cargo's questions about the compiler itself.
fn of_rustdoc(arguments: &[&str]) -> Option<Vec<String>> {
    let (mut kept, mut is_program, mut source) = (Vec::new(), false, None);
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        if word == "--test" {
            return None;
        }
        let (name, joined) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        if name == "-L" || OF_RUSTDOC.contains(&name) {
            let value = joined.or_else(|| words.next())?;
            if name == "--crate-name" && value == "build_script_build" {
                return None;
            }
            is_program |= name == "--crate-type" && value == "bin";
            kept.extend([name.to_owned(), value.to_owned()]);
        } else if joined.is_none() && matches!(name, "-C" | "--out-dir" | "--emit" | "--error-format" | "--json") {
            words.next();
        } else if name.ends_with(".rs") {
            source = Some(word);
        }
    }
    let source = source?;
    if Path::new(source).iter().any(|folder| folder == "examples") {
        return None;
    }
    kept.push(source.to_owned());
    // As `cargo doc` has it: nobody calls a program from outside, so what it has is all private.
    kept.extend(is_program.then(|| "--document-private-items".to_owned()));
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustdoc_reads_what_rustc_reads_and_writes_nothing_of_it() {
        let of_rustc = [
            "--crate-name",
            "api",
            "--edition=2024",
            "src/lib.rs",
            "--error-format=json",
            "--json=diagnostic-rendered-ansi,artifacts",
            "--crate-type",
            "lib",
            "--emit=dep-info,metadata,link",
            "-C",
            "embed-bitcode=no",
            "--warn=missing_docs",
            "--cfg",
            "feature=\"a\"",
            "-C",
            "metadata=1",
            "--out-dir",
            "target/deps",
            "-L",
            "dependency=target/deps",
            "--extern",
            "serde=target/deps/libserde.rmeta",
        ];
        let expected = [
            "--crate-name",
            "api",
            "--edition",
            "2024",
            "--crate-type",
            "lib",
            "--warn",
            "missing_docs",
            "--cfg",
            "feature=\"a\"",
            "-L",
            "dependency=target/deps",
            "--extern",
            "serde=target/deps/libserde.rmeta",
            "src/lib.rs",
        ];
        assert_eq!(of_rustdoc(&of_rustc).unwrap(), expected, "what says how the source is read, in its order");
    }

    #[test]
    fn examples_that_nothing_starts_and_this_program_are_checked_and_not_linked() {
        let of_cargo = |name| {
            [
                "--crate-name",
                name,
                "--edition=2024",
                "tests/examples/poll_load.rs",
                "--json=diagnostic-rendered-ansi,artifacts,future-incompat",
                "--crate-type",
                "bin",
                "--emit=dep-info,link",
                "-C",
                "extra-filename=-0f",
                "--out-dir",
                "/target/debug/examples",
            ]
        };
        let (of_check, place) = of_check(&of_cargo("poll_load")).unwrap();
        assert_eq!(
            place,
            Path::new("/target/debug/examples").join(format!("poll_load-0f{}", std::env::consts::EXE_SUFFIX))
        );
        let mut expected = of_cargo("poll_load");
        expected[4] = "--json=diagnostic-rendered-ansi,future-incompat";
        expected[7] = "--emit=dep-info,metadata";
        assert_eq!(of_check, expected, "all else as cargo has it");
        assert_eq!(super::of_check(&of_cargo("keep")), None, "tests start it");
        let of_a_program =
            ["--crate-name", "taskwarden", "-C", "extra-filename=-0f", "--out-dir", "/target/debug/deps"];
        assert_eq!(super::of_check(&of_a_program), None, "programs are made");
        let of_us =
            ["--crate-name", OURSELVES, "-C", "extra-filename=-0f", "--out-dir", "/target/debug/deps", "--test"];
        assert_eq!(super::of_check(&of_us), None, "our tests run");
        let (_, place) = super::of_check(&of_us[..6]).unwrap();
        assert_eq!(
            place,
            Path::new("/target/debug/deps").join(format!("{OURSELVES}-0f{}", std::env::consts::EXE_SUFFIX))
        );
    }

    #[test]
    fn clippy_reads_everything_but_libraries_without_their_tests() {
        let of_cargo = |crate_type| ["--crate-name", "api", "src/lib.rs", "--crate-type", crate_type];
        assert!(is_library(&of_cargo("lib")), "its tests are read");
        for of_rustc in [
            &of_cargo("bin")[..],
            &of_cargo("proc-macro"),
            &["--crate-name", "api", "src/lib.rs", "--test"],
            &["--crate-name", "api", "src/lib.rs", "--crate-type", "lib", "--test"],
            &["-vV"],
        ] {
            assert!(!is_library(of_rustc), "{of_rustc:?}");
        }
    }

    #[test]
    fn tests_examples_build_scripts_and_questions_about_the_compiler_have_no_pages() {
        for of_rustc in [
            &["--crate-name", "api", "src/lib.rs", "--test"][..],
            &["--crate-name", "bench", "--crate-type", "bin", "tests/examples/bench/main.rs"],
            &["--crate-name", "build_script_build", "--crate-type", "bin", "build.rs"],
            &["-", "--crate-name", "___", "--print=file-names", "--crate-type", "bin"],
            &["-vV"],
        ] {
            assert_eq!(of_rustdoc(of_rustc), None, "{of_rustc:?}");
        }
        let of_a_program = of_rustdoc(&["--crate-name", "taskwarden", "--crate-type", "bin", "src/main.rs"]).unwrap();
        assert_eq!(of_a_program.last().unwrap(), "--document-private-items", "all of a program is private");
    }
}
