//! `cargo xtask package`: deb, rpm and tar packages of the programs, in `target/packages`.
//!
//! `package/programs.rs` builds and strips, `part.rs` and `contents.rs` say what is packed, `manual.rs` writes the pages of
//! `man`, and `deb.rs`, `rpm.rs` and `archive.rs` pack a folder of files. Equal programs give equal bytes: owners, order
//! and times are fixed, and the time is the commit's. Publishes and signs nothing (decision 0099).

mod archive;
mod contents;
mod deb;
pub(crate) mod files;
mod manual;
pub(crate) mod part;
pub(crate) mod programs;
mod publisher;
mod release;
mod rpm;
mod size;

use std::path::{Path, PathBuf};

use files::{Layout, PackageFile, lay_out};
use part::Part;
use programs::{PackagedProgram, Source};
use publisher::Publisher;
use release::Release;

use crate::failure::Failure;
use crate::setup::install;
use crate::table;
use crate::workspace::Workspace;

/// Where packages go, below the folder of builds.
const FOLDER: &str = "packages";

/// What is packed, from which programs, and how.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) parts: Vec<Part>,
    pub(crate) source: Source,
    pub(crate) folder: PathBuf,
    /// Put behind the version, so that an update can be tried with one build.
    pub(crate) version_suffix: &'static str,
    pub(crate) compression: Compression,
    pub(crate) formats: Vec<Format>,
    /// The packages are for other people, so what only a publisher knows has to be there.
    pub(crate) is_published: bool,
}

/// How hard packages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// As small as zstd makes them without needing more memory to unpack.
    Small,
    /// For packages that are unpacked once and thrown away.
    Quick,
}

impl Compression {
    /// The level of zstd.
    const fn level(self) -> u8 {
        match self {
            Self::Small => 19,
            Self::Quick => 1,
        }
    }
}

/// One kind of package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Deb,
    Rpm,
    Archive,
    /// Debug information of the programs.
    Symbols,
}

/// One package that was made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) part: Part,
    pub(crate) format: Format,
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    /// The programs in it, stripped, with their debug information.
    pub(crate) programs: Vec<PackagedProgram>,
    /// Bytes of all files once they are installed.
    pub(crate) installed: u64,
}

/// Makes the packages that the words of the command line ask for, and prints their sizes.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), Failure> {
    let order = order(workspace, words)?;
    if order.is_published {
        // Before an hour of compiling.
        Publisher::of(workspace)?.check()?;
    }
    install::for_packages(workspace)?;
    let made = make(workspace, &order)?;
    let rows: Vec<Vec<String>> = made.iter().map(|made| row(workspace, made)).collect();
    println!("\n{}", table::lay_out(&["package", "bytes", "installed"], &rows));
    let headless = made.iter().find(|made| made.part == Part::Headless && made.format != Format::Symbols);
    headless.map_or(Ok(()), |made| size::compare(made.installed, &order.source))
}

fn order(workspace: &Workspace, words: &[&str]) -> Result<Order, Failure> {
    let (mut parts, mut source) = (vec![Part::Headless, Part::Desktop], Source::Built);
    let mut is_published = false;
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--headless" => parts = vec![Part::Headless],
            "--desktop" => parts = vec![Part::Desktop],
            "--publish" => is_published = true,
            "--programs" => {
                let folder = words.next().ok_or_else(|| {
                    Failure::new("`--programs` names no folder", "Write the folder of built programs behind it.")
                })?;
                source = Source::In(PathBuf::from(folder));
            }
            _ => {
                let hint =
                    "Write it as `cargo xtask package [--headless | --desktop] [--programs FOLDER] [--publish]`.";
                return Err(Failure::new(format!("`package` has no `{word}`"), hint));
            }
        }
    }
    Ok(Order {
        parts,
        source,
        folder: workspace.target().join(FOLDER),
        version_suffix: "",
        compression: Compression::Small,
        formats: vec![Format::Deb, Format::Rpm, Format::Archive, Format::Symbols],
        is_published,
    })
}

/// Makes packages, and says which.
pub(crate) fn make(workspace: &Workspace, order: &Order) -> Result<Vec<Made>, Failure> {
    let release = Release::of(workspace, order.version_suffix)?;
    let publisher = Publisher::of(workspace)?;
    // From the root, because some tools run in another folder.
    let work = std::path::absolute(order.folder.join("work"))
        .map_err(|why| Failure::new(format!("`{}` has no place: {why}", order.folder.display()), "Check the path."))?;
    files::make_empty(&work)?;
    let built = programs::collect(workspace, order, &work)?;
    let mut made = Vec::new();
    for &part in &order.parts {
        let programs: Vec<PackagedProgram> =
            built.iter().filter(|program| part.programs().contains(&program.name)).cloned().collect();
        let mut packing = Packing {
            workspace,
            order,
            release: &release,
            publisher: &publisher,
            work: &work,
            part,
            programs,
            files: Vec::new(),
        };
        packing.files = contents::files_of(&packing)?;
        for &format in &order.formats {
            let Some(path) = packing.pack(format)? else { continue };
            println!("made {}", path.strip_prefix(workspace.root()).unwrap_or(&path).display());
            let (version, programs) = (release.version.clone(), packing.programs.clone());
            made.push(Made { part, format, path, version, programs, installed: packing.installed()? });
        }
    }
    Ok(made)
}

/// One part on its way into packages, and everything that a packer reads.
struct Packing<'a> {
    workspace: &'a Workspace,
    order: &'a Order,
    release: &'a Release,
    publisher: &'a Publisher,
    /// Where folders may be made, from the root of the file system.
    work: &'a Path,
    part: Part,
    programs: Vec<PackagedProgram>,
    files: Vec<PackageFile>,
}

impl Packing<'_> {
    /// One package of one kind; `None` where a part has none of this kind.
    fn pack(&self, format: Format) -> Result<Option<PathBuf>, Failure> {
        match format {
            Format::Deb => deb::pack(self).map(Some),
            Format::Rpm => rpm::pack(self).map(Some),
            // The window needs libraries of the system at their places, which only a package manager provides.
            Format::Archive if self.part == Part::Desktop => Ok(None),
            Format::Archive => archive::pack(self).map(Some),
            Format::Symbols => archive::pack_symbols(self).map(Some),
        }
    }

    /// The files of the package in a folder of their own, as a packer of this kind expects them.
    fn laid_out(&self, name: &str, layout: Layout) -> Result<PathBuf, Failure> {
        let folder = self.work.join(format!("{}-{name}", self.part.name()));
        files::make_empty(&folder)?;
        lay_out(&self.files, &folder, layout, self.release.epoch)?;
        Ok(folder)
    }

    /// Bytes of all files once they are installed.
    fn installed(&self) -> Result<u64, Failure> {
        self.files.iter().map(PackageFile::bytes).sum()
    }
}

fn row(workspace: &Workspace, made: &Made) -> Vec<String> {
    let bytes = std::fs::metadata(&made.path).map_or(0, |known| known.len());
    let installed = if made.format == Format::Symbols { String::new() } else { size::megabytes(made.installed) };
    let name = made.path.strip_prefix(workspace.root()).unwrap_or(&made.path).display().to_string();
    vec![name, size::megabytes(bytes), installed]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(words: &[&str]) -> Result<Order, Failure> {
        order(&Workspace::at(Path::new("/clone")), words)
    }

    #[test]
    fn one_part_or_all_are_packed_from_a_build_or_from_a_folder() {
        let all = ordered(&[]).unwrap();
        assert_eq!((all.parts, all.source), (vec![Part::Headless, Part::Desktop], Source::Built));
        let one = ordered(&["--headless", "--programs", "built"]).unwrap();
        assert_eq!((one.parts, one.source), (vec![Part::Headless], Source::In("built".into())));
        assert_eq!(ordered(&["--desktop"]).unwrap().parts, [Part::Desktop]);
        assert!(ordered(&["--publish"]).unwrap().is_published && !ordered(&[]).unwrap().is_published);
    }

    #[test]
    fn a_word_that_is_not_known_is_answered_with_the_form_of_the_command() {
        let failure = ordered(&["--windows"]).unwrap_err().to_string();
        assert!(failure.contains("`--windows`") && failure.contains("[--headless | --desktop]"), "{failure}");
        assert!(ordered(&["--programs"]).is_err(), "a folder is missing");
    }
}
