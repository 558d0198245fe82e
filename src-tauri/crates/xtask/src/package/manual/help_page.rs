//! One help text as clap lays it out, read into its parts and written as a page for `man`.
//!
//! A part that is not recognised is kept as a paragraph: nothing that the help says is left out. What help means is the
//! program's; here are indentation and headings only.

use std::fmt::Write as _;

use super::Release;

/// The least indentation of a description that goes on below its term; terms have at most six columns.
const CONTINUED: usize = 7;

/// One command's help.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HelpPage {
    /// Paragraphs above the usage; the first is the purpose in one sentence.
    about: Vec<String>,
    usage: Vec<String>,
    sections: Vec<HelpSection>,
    /// Paragraphs below the sections.
    after: Vec<String>,
}

/// A heading, such as *Options*, and what stands below it.
#[derive(Debug, PartialEq, Eq)]
struct HelpSection {
    title: String,
    entries: Vec<HelpEntry>,
}

/// An option, an argument or a command.
#[derive(Debug, Default, PartialEq, Eq)]
struct HelpEntry {
    term: String,
    paragraphs: Vec<String>,
}

impl HelpPage {
    /// Reads a help text; `None` without a usage, because then it is something else.
    pub(super) fn read(help: &str) -> Option<Self> {
        let mut page = Self::default();
        let mut is_new = true;
        for line in help.lines() {
            let text = line.trim();
            let indent = line.len() - line.trim_start().len();
            if text.is_empty() {
                is_new = true;
                continue;
            }
            if let Some(usage) = text.strip_prefix("Usage: ").filter(|_| page.usage.is_empty()) {
                page.usage.push(usage.to_owned());
            } else if page.usage.is_empty() {
                add(&mut page.about, text, is_new);
            } else if page.sections.is_empty() && !is_new {
                page.usage.push(text.to_owned());
            } else if indent == 0 {
                match text.strip_suffix(':').filter(|_| is_new && page.after.is_empty()) {
                    Some(title) => page.sections.push(HelpSection { title: title.to_owned(), entries: Vec::new() }),
                    None => add(&mut page.after, text, is_new),
                }
            } else if let Some(section) = page.sections.last_mut().filter(|_| page.after.is_empty()) {
                section.add(text, indent, is_new);
            } else {
                add(&mut page.after, text, is_new);
            }
            is_new = false;
        }
        (!page.usage.is_empty()).then_some(page)
    }

    /// The commands below this one, without the help of clap itself.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        let listed = self.sections.iter().filter(|section| section.title == "Commands");
        listed.flat_map(|section| &section.entries).map(|entry| entry.term.as_str()).filter(|name| *name != "help")
    }

    /// The page, with this text before its last section.
    pub(super) fn to_roff(&self, name: &str, common: &str, release: &Release) -> String {
        let title = escaped(&name.to_uppercase());
        let mut page =
            format!(".TH {title} 1 \"{}\" \"taskwarden {}\" \"User Commands\"\n", release.day, release.version);
        let purpose = self.about.first().map_or("", String::as_str).trim_end_matches('.');
        let _ = write!(page, ".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n", escaped(name), escaped(purpose));
        for (at, usage) in self.usage.iter().enumerate() {
            let _ = writeln!(page, "{}{}", if at == 0 { "" } else { ".br\n" }, line(usage));
        }
        if !self.about.is_empty() {
            page.push_str(".SH DESCRIPTION\n");
            write_paragraphs(&mut page, &self.about);
        }
        for section in &self.sections {
            let _ = writeln!(page, ".SH {}", escaped(&section.title.to_uppercase()));
            for entry in section.entries.iter().filter(|entry| section.title != "Commands" || entry.term != "help") {
                let _ = writeln!(page, ".TP\n\\fB{}\\fR", escaped(&entry.term));
                for (at, paragraph) in entry.paragraphs.iter().enumerate() {
                    let _ = writeln!(page, "{}{}", if at == 0 { "" } else { ".IP\n" }, line(paragraph));
                }
            }
        }
        if !self.after.is_empty() {
            page.push_str(".SH NOTES\n");
            write_paragraphs(&mut page, &self.after);
        }
        page.push_str(common);
        let above = name.rsplit_once('-').map(|(above, _)| above).filter(|above| !above.is_empty());
        let below: Vec<String> = self.commands().map(|command| format!("{name}-{command}")).collect();
        let related: Vec<String> = above
            .into_iter()
            .map(str::to_owned)
            .chain(below)
            .map(|page| format!(".BR {} (1)", escaped(&page)))
            .collect();
        if !related.is_empty() {
            let _ = writeln!(page, ".SH SEE ALSO\n{}", related.join("\n"));
        }
        page
    }
}

impl HelpSection {
    /// One more line of the section.
    fn add(&mut self, text: &str, indent: usize, is_new: bool) {
        if indent >= CONTINUED
            && let Some(entry) = self.entries.last_mut()
        {
            add(&mut entry.paragraphs, text, is_new || text.starts_with("- "));
            return;
        }
        // Two spaces part a term from its description; short options and their long names have one.
        let (term, description) = text.split_once("  ").unwrap_or((text, ""));
        let paragraphs = Some(description.trim().to_owned()).filter(|text| !text.is_empty()).into_iter().collect();
        self.entries.push(HelpEntry { term: term.to_owned(), paragraphs });
    }
}

/// Adds a line to the last paragraph, or begins another.
fn add(paragraphs: &mut Vec<String>, text: &str, is_new: bool) {
    match paragraphs.last_mut().filter(|_| !is_new) {
        Some(paragraph) => {
            paragraph.push(' ');
            paragraph.push_str(text);
        }
        None => paragraphs.push(text.to_owned()),
    }
}

fn write_paragraphs(page: &mut String, paragraphs: &[String]) {
    for (at, paragraph) in paragraphs.iter().enumerate() {
        let _ = writeln!(page, "{}{}", if at == 0 { "" } else { ".PP\n" }, line(paragraph));
    }
}

/// A line of text that is no request, whatever it begins with.
fn line(text: &str) -> String {
    let guard = if text.starts_with(['.', '\'']) { "\\&" } else { "" };
    format!("{guard}{}", escaped(text))
}

/// Backslashes as themselves, and hyphens that can be searched for and copied.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
Call a tool, and print the handle of its task at once

Usage: taskwarden call [OPTIONS] <SERVER> <TOOL>
       taskwarden call <COMMAND>

Commands:
  set   Set how long, and how much,
        is kept
  help  Print this message

Arguments:
  <SERVER>  The server's name

Options:
      --args <JSON>  The arguments: a JSON object, `@file.json`, or `-` for standard input [default:
                     {}]
  -h, --help         Print help

Exit codes: 0 done,
4 nothing there
";

    fn release() -> Release {
        Release::at("1.2.3", 0, "2026-11-28")
    }

    #[test]
    fn wrapped_descriptions_are_joined_and_terms_are_told_from_them() {
        let page = HelpPage::read(HELP).unwrap();
        assert_eq!(page.usage, ["taskwarden call [OPTIONS] <SERVER> <TOOL>", "taskwarden call <COMMAND>"]);
        assert_eq!(page.commands().collect::<Vec<_>>(), ["set"], "its own help is not a command of ours");
        let options = page.sections.iter().find(|section| section.title == "Options").unwrap();
        let terms: Vec<&str> = options.entries.iter().map(|entry| entry.term.as_str()).collect();
        assert_eq!(terms, ["--args <JSON>", "-h, --help"]);
        assert!(options.entries[0].paragraphs[0].ends_with("[default: {}]"), "{options:?}");
        assert_eq!(page.after, ["Exit codes: 0 done, 4 nothing there"], "what has no heading is kept");
    }

    #[test]
    fn descriptions_below_their_terms_keep_their_paragraphs() {
        let long = "About.\n\nUsage: a [OPTIONS]\n\nOptions:\n      --for <P>\n          The program.\n\n          \
                    Possible values:\n          - one: The first\n          - two: The second\n\n  -h, --help\n          Help\n";
        let page = HelpPage::read(long).unwrap();
        let entry = &page.sections[0].entries[0];
        assert_eq!(entry.term, "--for <P>");
        assert_eq!(entry.paragraphs, ["The program.", "Possible values:", "- one: The first", "- two: The second"]);
        assert_eq!(page.sections[0].entries.len(), 2, "{page:?}");
    }

    #[test]
    fn a_page_has_what_the_help_has_and_no_line_of_it_is_a_request() {
        let page =
            HelpPage::read("Reads.\n\nUsage: a [FILE]\n\nArguments:\n  [FILE]  .hidden or 'x\\n' or --all\n").unwrap();
        let roff = page.to_roff("taskwarden-a", ".SH FILES\n", &release());
        assert!(roff.starts_with(".TH TASKWARDEN\\-A 1 \"2026-11-28\" \"taskwarden 1.2.3\""), "{roff}");
        assert!(roff.contains("taskwarden\\-a \\- Reads\n"), "{roff}");
        assert!(roff.contains("\n\\&.hidden or 'x\\en' or \\-\\-all\n"), "{roff}");
        assert!(roff.ends_with(".SH FILES\n.SH SEE ALSO\n.BR taskwarden (1)\n"), "{roff}");
    }

    #[test]
    fn what_is_no_help_is_not_taken_for_one() {
        assert_eq!(HelpPage::read("error: no such command\n"), None);
    }
}
