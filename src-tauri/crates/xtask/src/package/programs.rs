//! The programs that are packed: built in the profile of packages or taken from a folder, then stripped.
//!
//! Debug information goes to a file of its own with the same build id, which debuggers look for by that id. The build
//! of packages has a folder of its own, because paths of this machine are written out of it: programs would otherwise
//! name the home folder and the registry of whoever built them. Nothing is signed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::{make_empty, unreadable};
use super::{Order, Part};
use crate::failure::Failure;
use crate::setup::install;
use crate::workspace::Workspace;
use crate::{page, process};

/// Where the build of packages lies, below the folder of builds.
const BUILD: &str = "package-build";
/// The profile of `Cargo.toml` that makes programs small.
const PROFILE: &str = "dist";
const TOOLS: &str = "`objcopy` and `readelf` are part of the package binutils.";
/// The marker of the section that holds a build id, as `readelf --notes` prints it.
const BUILD_ID: &str = "Build ID: ";

/// Where programs come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Built here, in the profile of packages.
    Built,
    /// In a folder already; of whatever profile.
    In(PathBuf),
}

/// A stripped program with its debug information.
#[derive(Debug, Clone)]
pub(crate) struct PackagedProgram {
    pub(crate) name: &'static str,
    pub(crate) stripped: PathBuf,
    pub(crate) symbols: PathBuf,
    /// Hexadecimal; both files have it.
    pub(crate) build_id: String,
}

/// Builds or finds the programs of an order, and strips copies of them.
pub(super) fn collect(workspace: &Workspace, order: &Order, work: &Path) -> Result<Vec<PackagedProgram>, Failure> {
    let folder = match &order.source {
        Source::Built => build(workspace, &order.parts)?,
        Source::In(folder) => folder.clone(),
    };
    let stripped = work.join("programs");
    make_empty(&stripped)?;
    let mut names: Vec<&'static str> = order.parts.iter().flat_map(|part| part.programs()).copied().collect();
    names.dedup();
    let programs =
        names.into_iter().map(|name| strip(name, &folder.join(name), &stripped)).collect::<Result<Vec<_>, _>>()?;
    if order.source == Source::Built {
        programs.iter().try_for_each(|program| check_paths(workspace, program))?;
    }
    Ok(programs)
}

/// Builds the page and the programs; the folder with the programs.
fn build(workspace: &Workspace, parts: &[Part]) -> Result<PathBuf, Failure> {
    let has_window = parts.contains(&Part::Desktop);
    if has_window {
        install::for_window(workspace)?;
    }
    // The headless program carries it as well: it serves it to browsers.
    page::build(workspace)?;
    let target = workspace.target().join(BUILD);
    println!("building the programs in the profile `{PROFILE}`; that takes about an hour on two cores");
    let mut arguments = vec!["build", "--profile", PROFILE];
    // One selection for all programs of a run, so that they share what they are built from.
    arguments.extend(has_window.then_some("--workspace"));
    for program in parts.iter().flat_map(|part| part.programs()) {
        arguments.extend(["--bin", program]);
    }
    let mut cargo = process::cargo(workspace, &arguments);
    let anonymous = |flag: &str| {
        let renamed: Vec<String> =
            renamed_paths(workspace).iter().map(|(path, name)| format!("{flag}={}={name}", path.display())).collect();
        renamed.join(" ")
    };
    let with_own = |name: &str, more: String| match std::env::var(name) {
        Ok(own) => format!("{own} {more}"),
        Err(_) => more,
    };
    cargo
        .env("CARGO_TARGET_DIR", &target)
        .env("RUSTFLAGS", with_own("RUSTFLAGS", anonymous("--remap-path-prefix")))
        .env("CFLAGS", with_own("CFLAGS", anonymous("-ffile-prefix-map")))
        .env("CXXFLAGS", with_own("CXXFLAGS", anonymous("-ffile-prefix-map")));
    process::run(&mut cargo, "Fix what the compiler names above.")?;
    Ok(target.join(PROFILE))
}

/// Folders of this machine that a compiler writes into programs, and what is written in their place. The last one that
/// fits wins, so what lies deeper comes later.
fn renamed_paths(workspace: &Workspace) -> Vec<(PathBuf, &'static str)> {
    let mut renamed = vec![(workspace.root().to_path_buf(), "/taskwarden")];
    if let Some(home) = cargo_home() {
        renamed.push((home.clone(), "/cargo"));
        // One folder for each registry, with the name of its host.
        let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten().flatten();
        renamed.extend(registries.map(|entry| (entry.path(), "/crates")));
    }
    renamed
}

fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")))
}

/// A built program must name no folder of this machine.
fn check_paths(workspace: &Workspace, program: &PackagedProgram) -> Result<(), Failure> {
    let bytes = fs::read(&program.stripped).map_err(|why| unreadable(&program.stripped, &why))?;
    let named = renamed_paths(workspace).into_iter().map(|(path, _)| path.to_string_lossy().into_owned());
    match named.into_iter().find(|path| holds(&bytes, path.as_bytes())) {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            format!("`{}` names the folder `{path}` of this machine", program.name),
            "Find which crate writes it with `strings`, and add its kind to `renamed_paths`.",
        )),
    }
}

fn holds(bytes: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else { return false };
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| byte == first) {
        rest = rest.get(at..).unwrap_or_default();
        if rest.starts_with(word) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// Parts a program into itself without debug information and its debug information alone.
fn strip(name: &'static str, program: &Path, into: &Path) -> Result<PackagedProgram, Failure> {
    if !program.is_file() {
        let hint = "Build it first, or leave out `--programs` to build everything.";
        return Err(Failure::new(format!("there is no program `{}`", program.display()), hint));
    }
    let (stripped, symbols) = (into.join(name), into.join(format!("{name}.debug")));
    let objcopy =
        |options: &[&str], to: &Path| process::run(Command::new("objcopy").args(options).arg(program).arg(to), TOOLS);
    let apart = program.with_file_name(format!("{name}.debug"));
    if apart.is_file() {
        // Stripped already, by an earlier run.
        for (from, to) in [(apart.as_path(), &symbols), (program, &stripped)] {
            fs::copy(from, to).map_err(|why| unreadable(from, &why))?;
        }
        return with_id(name, stripped, symbols);
    }
    objcopy(&["--only-keep-debug"], &symbols)?;
    // The last one is loaded with the program, and is left alone otherwise.
    objcopy(&["--strip-all", "--remove-section=.debug_gdb_scripts"], &stripped)?;
    with_id(name, stripped, symbols)
}

/// A program and its symbols, which belong together.
fn with_id(name: &'static str, stripped: PathBuf, symbols: PathBuf) -> Result<PackagedProgram, Failure> {
    let build_id = build_id(&stripped)?;
    if self::build_id(&symbols)? != build_id {
        return Err(Failure::new(format!("`{name}` and its symbols have different build ids"), TOOLS));
    }
    Ok(PackagedProgram { name, stripped, symbols, build_id })
}

/// The id that the linker gave a program, which stripping keeps.
pub(crate) fn build_id(program: &Path) -> Result<String, Failure> {
    // Of a file with debug information alone it also says that nothing can run it.
    let said = Command::new("readelf").args(["--notes", "--wide"]).arg(program).output();
    let said = said.map_err(|why| Failure::new(format!("`readelf` could not be started: {why}"), TOOLS))?.stdout;
    let id = build_id_in(&String::from_utf8_lossy(&said)).map(str::to_owned);
    id.ok_or_else(|| {
        let hint = "Link with `-Wl,--build-id`, which the linkers of Debian do by themselves.";
        Failure::new(format!("`{}` has no build id", program.display()), hint)
    })
}

fn build_id_in(notes: &str) -> Option<&str> {
    notes.lines().find_map(|line| Some(line.split_once(BUILD_ID)?.1.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_id_is_read_on_a_line_of_its_own_and_behind_its_kind() {
        let kind = "  GNU                  0x00000014\tNT_GNU_BUILD_ID (unique build ID bitstring)";
        assert_eq!(build_id_in(&format!("{kind}\t    Build ID: 65471ced\n")), Some("65471ced"));
        assert_eq!(build_id_in(&format!("{kind}\n    Build ID: 65471ced\n")), Some("65471ced"));
        assert_eq!(build_id_in("  GNU  NT_GNU_ABI_TAG\n"), None);
    }

    #[test]
    fn a_path_is_found_anywhere_in_a_program() {
        assert!(holds(b"\0\0/home/me/.cargo/x\0", b"/home/me"), "in the middle");
        assert!(holds(b"//home", b"/home"), "behind its own first letter");
        assert!(!holds(b"/homf", b"/home") && !holds(b"", b"/home") && !holds(b"a", b""), "what is not there");
    }

    #[test]
    fn what_lies_deeper_is_renamed_after_what_it_lies_in() {
        let renamed = renamed_paths(&Workspace::at(Path::new("/clone")));
        assert_eq!(renamed.first().map(|(path, _)| path.as_path()), Some(Path::new("/clone")));
        for (at, (path, _)) in renamed.iter().enumerate() {
            let earlier = renamed.iter().take(at);
            assert!(!earlier.into_iter().any(|(before, _)| before.starts_with(path) && before != path), "{path:?}");
        }
    }
}
