//! Whether a newcomer finds each thing at the first try: rooms, names, directions.
//!
//! `rooms.rs` counts files in folders, `names.rs` looks at names of types and functions, `doc_words.rs` at doc
//! comments that say nothing, `named_files.rs` at files that prose names, `cycles.rs` at imports that run in circles,
//! `orientation.rs` at the table of ARCHITECTURE.md. Whether a name is a good one is left to review.

mod cycles;
mod doc_words;
mod named_files;
mod names;
mod orientation;
mod paths;
mod rooms;

pub(crate) use orientation::PAGE;

use super::finding::Finding;
use super::shipped::Shipped;
use super::source::Source;

/// Checks all sources together. `files` are all files of the workspace, `page` is the text of ARCHITECTURE.md.
pub(crate) fn check(sources: &[Source], shipped: &Shipped, files: &[String], page: Option<&str>) -> Vec<Finding> {
    let ours: Vec<&Source> = sources.iter().filter(|source| shipped.has(&source.path)).collect();
    let mut findings = rooms::check(files);
    findings.extend(names::check(&ours));
    findings.extend(ours.iter().flat_map(|source| doc_words::check(source)));
    findings.extend(cycles::check(&ours));
    let known = named_files::ends_of(files);
    findings.extend(ours.iter().flat_map(|source| named_files::check(&source.path, &source.text, &known)));
    findings.extend(page.into_iter().flat_map(|text| named_files::check(PAGE, text, &known)));
    findings.extend(page.into_iter().flat_map(|text| orientation::check(text, files)));
    findings
}
