//! Packages as people meet them: made from the built programs, installed below a folder of their own, run, updated while
//! tasks of a local server run, and purged.
//!
//! The programs are those of the dev profile, stripped, because CI builds no others; `cargo xtask package` is for
//! releases. `dpkg` works on a root of its own that knows which packages this machine has, so that what our packages need
//! is really looked up, and nothing is installed into the machine. Needs `dpkg` and root; rpm packages are not made here.

mod dpkg_root;
mod person;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use dpkg_root::DpkgRoot;
use person::Person;

use crate::failure::Failure;
use crate::package::files::make_empty;
use crate::package::part::Part;
use crate::package::programs::{Source, build_id};
use crate::package::{self, Compression, Format, Made, Order};
use crate::process;
use crate::setup::install;
use crate::workspace::Workspace;

/// Set where every test has to run, as in CI.
const EVERY_TEST: &str = "TASKWARDEN_EVERY_TEST";
const HINT: &str = "The packages are in `target/packages-check`; `cargo xtask test installed` runs this alone.";
/// How many tasks run while a package is updated (setup.md, section 7, check 8).
const TASKS: usize = 12;
/// What no headless machine has to have.
const OF_A_DESKTOP: [&str; 4] = ["libgtk", "libwebkit", "libgdk", "libX11"];
/// Files that must be in the packages, by the package.
const FILES: [(Part, &[&str]); 2] = [
    (
        Part::Headless,
        &[
            "usr/bin/taskwarden",
            "usr/bin/taskwarden-verify",
            "usr/lib/systemd/user/taskwarden.service",
            "usr/share/man/man1/taskwarden.1.gz",
            "usr/share/man/man1/taskwarden-tasks-cancel.1.gz",
            "usr/share/man/man1/taskwarden-verify.1.gz",
            "usr/share/bash-completion/completions/taskwarden",
            "usr/share/zsh/vendor-completions/_taskwarden",
            "usr/share/fish/vendor_completions.d/taskwarden.fish",
            "usr/share/doc/taskwarden/copyright",
            "usr/share/doc/taskwarden/THIRD-PARTY.txt.gz",
            "usr/share/doc/taskwarden/sbom.cdx.json",
        ],
    ),
    (
        Part::Desktop,
        &[
            "usr/bin/taskwarden-desktop",
            "usr/share/applications/taskwarden.desktop",
            "usr/share/icons/hicolor/128x128/apps/taskwarden.png",
            "usr/share/icons/hicolor/scalable/apps/taskwarden.svg",
            "usr/share/man/man1/taskwarden-desktop.1.gz",
            "usr/share/doc/taskwarden-desktop/sbom.cdx.json",
        ],
    ),
];

/// Makes the packages and does with them what people do.
pub(super) fn run(workspace: &Workspace) -> Result<(), Failure> {
    if let Some(why) = why_not() {
        if std::env::var_os(EVERY_TEST).is_some() {
            return Err(Failure::new(
                format!("packages cannot be installed here: {why}"),
                "Run the checks as CI does.",
            ));
        }
        println!("packages were not made and installed here: {why}");
        return Ok(());
    }
    install::for_debs(workspace)?;
    let folder = std::path::absolute(workspace.target().join("packages-check"))
        .map_err(|why| Failure::new(format!("the folder of builds has no place: {why}"), HINT))?;
    make_empty(&folder)?;
    let order = |name: &str, built: PathBuf, version_suffix| Order {
        parts: vec![Part::Headless, Part::Desktop],
        source: Source::In(built),
        folder: folder.join(name),
        version_suffix,
        compression: Compression::Quick,
        formats: vec![Format::Deb, Format::Archive],
        is_published: false,
    };
    let first = package::make(workspace, &order("first", workspace.target().join("debug"), ""))?;
    // Stripped already: what is left of the time goes into packing.
    let stripped = folder.join("first/work/programs");
    let headless = |order| Order { parts: vec![Part::Headless], ..order };
    let again = package::make(workspace, &headless(order("again", stripped.clone(), "")))?;
    equal(&first, &again)?;
    let update = Order { formats: vec![Format::Deb], ..headless(order("update", stripped, "+update")) };
    let update = package::make(workspace, &update)?;
    let (headless, desktop) = (of(&first, Part::Headless, Format::Deb)?, of(&first, Part::Desktop, Format::Deb)?);
    bill_is_whole(workspace, headless, &folder)?;
    archive_runs(of(&first, Part::Headless, Format::Archive)?, &folder)?;
    desktop_needs_headless(headless, desktop, &folder)?;
    life_of_a_package(headless, of(&update, Part::Headless, Format::Deb)?, &folder)
}

/// Why this machine cannot do it.
fn why_not() -> Option<&'static str> {
    if !process::is_there("dpkg", &["--version"]) {
        return Some("there is no `dpkg`");
    }
    let user = Command::new("id").arg("-u").output().map(|said| said.stdout).unwrap_or_default();
    (user.trim_ascii() != b"0").then_some("`dpkg` needs root to install, even below a folder")
}

fn of(made: &[Made], part: Part, format: Format) -> Result<&Made, Failure> {
    let found = made.iter().find(|made| made.part == part && made.format == format);
    found.ok_or_else(|| Failure::new(format!("no {format:?} of the {part:?} part was made"), HINT))
}

/// Two runs over equal programs give equal bytes.
fn equal(first: &[Made], again: &[Made]) -> Result<(), Failure> {
    for (one, other) in first.iter().zip(again) {
        let read = |made: &Made| fs::read(&made.path).unwrap_or_default();
        let bytes = read(one);
        if bytes.is_empty() || bytes != read(other) {
            return Err(failed(format!("`{}` and `{}` differ", one.path.display(), other.path.display())));
        }
    }
    println!("{} packages, made twice, are equal byte for byte", again.len());
    Ok(())
}

/// Installs, looks at the files, works with it, updates it while tasks run, and purges it.
fn life_of_a_package(package: &Made, update: &Made, folder: &Path) -> Result<(), Failure> {
    let root = DpkgRoot::make(&folder.join("root"))?;
    root.dpkg(&["--install"], &[&package.path])?;
    has_files(&root, package)?;
    is_stripped(&root, package)?;
    needs_no_desktop(&root, package)?;
    let person = Person::at_home(&root.path("usr/bin/taskwarden"))?;
    let said = person.run(&["--version"])?;
    // A pre-release has a tilde in the words of packages.
    let version = package.version.replace('~', "-");
    if said.trim() != format!("taskwarden {version}") {
        return Err(failed(format!("`taskwarden --version` says `{}`", said.trim())));
    }
    let core = person.serve()?;
    let doctor = person.json(&["doctor", "--json"])?;
    let findings = doctor.get("findings").and_then(Value::as_array).map_or(0, Vec::len);
    if findings == 0 || doctor.get("broken").is_none_or(|broken| *broken != 0) {
        return Err(failed(format!("`doctor` finds something broken in a new installation: {doctor}")));
    }
    println!("installed {version}: it serves, and `doctor` found none of {findings} things broken");
    person.initialise()?;
    person.run(&[
        "servers",
        "add",
        "demo",
        "--yes",
        "--",
        &root.path("usr/bin/taskwarden").to_string_lossy(),
        "demo-server",
    ])?;
    let tasks: Vec<String> = (0..TASKS).map(|_| person.start_task("demo", "runaway")).collect::<Result<_, _>>()?;
    let before = steps_after(&person, &tasks, &[0; TASKS])?;
    let kept = person.kept_process()?;
    root.dpkg(&["--install"], &[&update.path])?;
    let after = steps_after(&person, &tasks, &before)?;
    println!("all {TASKS} tasks go on under the core of the old package: steps {before:?}, then {after:?}");
    core.stop()?;
    let core = person.serve()?;
    let later = steps_after(&person, &tasks, &after)?;
    if person.kept_process()? != kept {
        return Err(failed("the server of the tasks is another process after the update"));
    }
    println!("and under a core of the updated package: steps {later:?}, from the same process {kept}");
    for task in &tasks {
        person.run(&["tasks", "cancel", task, "--wait"])?;
    }
    core.stop()?;
    let data = person.data();
    let said = root.dpkg_for(&person, &["--purge", Part::Headless.name()])?;
    if !said.contains(&data.to_string_lossy().into_owned()) {
        return Err(failed(format!("the purge does not say that `{}` stays: {said}", data.display())));
    }
    if root.path("usr/bin/taskwarden").exists() || !data.join("registry.db").exists() {
        return Err(failed("a purge removes the program and leaves the data"));
    }
    println!("purged: the program is gone, the data is there and its place was said");
    person.leave()
}

/// The step of each task once it is beyond the one given.
fn steps_after(person: &Person, tasks: &[String], steps: &[u64]) -> Result<Vec<u64>, Failure> {
    tasks.iter().zip(steps).map(|(task, step)| person.step_after(task, *step)).collect()
}

/// The window is not installed without the headless part of its version, and is with it.
fn desktop_needs_headless(headless: &Made, desktop: &Made, folder: &Path) -> Result<(), Failure> {
    let root = DpkgRoot::make(&folder.join("root-desktop"))?;
    let refused = root.dpkg(&["--install"], &[&desktop.path]);
    if !refused.is_err_and(|why| why.to_string().contains("depends on taskwarden (=")) {
        return Err(failed("the desktop package was installed without the headless one"));
    }
    root.dpkg(&["--install"], &[&headless.path, &desktop.path])?;
    has_files(&root, desktop)?;
    is_stripped(&root, desktop)?;
    let missing = libraries(&root.path("usr/bin/taskwarden-desktop"))?;
    match missing.lines().find(|line| line.contains("not found")) {
        Some(line) => Err(failed(format!("the window lacks a library: {}", line.trim()))),
        None => Ok(()),
    }
}

fn has_files(root: &DpkgRoot, package: &Made) -> Result<(), Failure> {
    let wanted = FILES.iter().find(|(part, _)| *part == package.part).map_or([].as_slice(), |(_, files)| files);
    let is_empty = |file: &&&str| fs::metadata(root.path(file)).map_or(0, |known| known.len()) == 0;
    match wanted.iter().find(is_empty) {
        Some(file) => Err(failed(format!("`{file}` is not installed, or empty"))),
        None => Ok(()),
    }
}

/// No debug information is installed, and the file with it has the id of the program.
fn is_stripped(root: &DpkgRoot, package: &Made) -> Result<(), Failure> {
    for program in &package.programs {
        let installed = root.path(&format!("usr/bin/{}", program.name));
        let sections = process::output(Command::new("readelf").args(["-SW"]).arg(&installed), HINT)?;
        if sections.contains(".debug_") || sections.contains(".symtab") {
            return Err(failed(format!("`{}` has debug information", program.name)));
        }
        if build_id(&installed)? != build_id(&program.symbols)? {
            return Err(failed(format!("`{}` and its symbols have different build ids", program.name)));
        }
    }
    Ok(())
}

fn needs_no_desktop(root: &DpkgRoot, package: &Made) -> Result<(), Failure> {
    for program in &package.programs {
        let needed = libraries(&root.path(&format!("usr/bin/{}", program.name)))?;
        if let Some(library) = OF_A_DESKTOP.iter().find(|library| needed.contains(**library)) {
            return Err(failed(format!("`{}` is linked with {library}", program.name)));
        }
    }
    Ok(())
}

fn libraries(program: &Path) -> Result<String, Failure> {
    process::output(Command::new("ldd").arg(program), "`ldd` is part of the C library.")
}

/// Every crate that cargo itself says is linked into the program is in the bill of materials.
fn bill_is_whole(workspace: &Workspace, package: &Made, folder: &Path) -> Result<(), Failure> {
    let file = folder.join("first/work/taskwarden-deb/usr/share/doc/taskwarden/sbom.cdx.json");
    let text = fs::read_to_string(&file).unwrap_or_default();
    let bill: Value = serde_json::from_str(&text)
        .map_err(|why| failed(format!("the bill of materials of {:?} is no JSON: {why}", package.part)))?;
    let named: Vec<String> =
        bill.get("components").and_then(Value::as_array).into_iter().flatten().map(name_and_version).collect();
    let mut arguments = vec!["tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"];
    arguments.extend(["--target", "x86_64-unknown-linux-gnu"]);
    for package in package.part.packages() {
        arguments.extend(["--package", package]);
    }
    let tree = process::output(&mut process::cargo(workspace, &arguments), "`cargo tree` says what is wrong.")?;
    let linked: Vec<String> = tree.lines().filter_map(linked_crate).collect();
    let missing: Vec<&String> = linked.iter().filter(|one| !named.contains(one)).collect();
    if linked.is_empty() || !missing.is_empty() {
        return Err(failed(format!("{} crates are linked, and the bill of materials lacks {missing:?}", linked.len())));
    }
    println!("the bill of materials names {} packages, and every crate that cargo links", named.len());
    Ok(())
}

fn name_and_version(component: &Value) -> String {
    let text = |key: &str| component.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    format!("{} {}", text("name"), text("version"))
}

/// `serde v1.0.229` and `serde v1.0.229 (*)` as `serde 1.0.229`; nothing for what we wrote, which has a folder.
fn linked_crate(line: &str) -> Option<String> {
    let (name, rest) = line.split_once(" v")?;
    let mut words = rest.split_whitespace();
    let version = words.next()?;
    words.all(|word| word == "(*)").then(|| format!("{name} {version}"))
}

/// What was unpacked from the archive runs where it lies.
fn archive_runs(package: &Made, folder: &Path) -> Result<(), Failure> {
    let place = folder.join("unpacked");
    make_empty(&place)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--use-compress-program=zstd", "--strip-components=1", "--file"]).arg(&package.path);
    process::run(tar.arg("--directory").arg(&place), HINT)?;
    let said = process::output(Command::new(place.join("bin/taskwarden")).arg("--version"), HINT)?;
    let unit = place.join("lib/systemd/user/taskwarden.service");
    if said.trim() != format!("taskwarden {}", package.version.replace('~', "-")) || !unit.is_file() {
        return Err(failed(format!("the archive holds another program, or not all files: `{}`", said.trim())));
    }
    Ok(())
}

fn failed(what: impl Into<String>) -> Failure {
    Failure::new(what, HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_are_told_from_ours() {
        assert_eq!(linked_crate("serde v1.0.229"), Some("serde 1.0.229".to_owned()));
        assert_eq!(linked_crate("toml_edit v0.25.18+spec-1.1.0 (*)"), Some("toml_edit 0.25.18+spec-1.1.0".to_owned()));
        assert_eq!(linked_crate("taskwarden-host v0.1.0 (/clone/src-tauri/crates/host)"), None);
        assert_eq!(linked_crate(""), None);
    }
}
