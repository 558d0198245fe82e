//! The page about agent programs (`src-tauri/docs/agents.md`) shows the figures of `domain::client::profile`.
//!
//! Run with `BLESS=1`, this test writes the table anew.

use std::path::PathBuf;
use std::time::Duration;

use api::format::tokens::grouped;
use domain::client::profile::{CallTimeout, ClientProfile, LongResult, MissingStructure, PROFILES, ShownPart};

const BEGIN: &str = "<!-- table: domain::client_profile -->\n";
const END: &str = "<!-- end of table -->\n";

#[test]
fn the_page_about_agent_programs_shows_the_figures_that_the_gateway_goes_by() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/agents.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the table begins");
    let (table, after) = rest.split_once(END).expect("the table ends");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", written())).expect("the page is written");
        return;
    }
    assert_eq!(table, written(), "`BLESS=1` with this test writes the table anew; read the text around it then");
}

fn written() -> String {
    let measured: Vec<&ClientProfile> = PROFILES.iter().filter(|profile| !profile.version.is_empty()).collect();
    let row = |what: &str, say: &dyn Fn(&ClientProfile) -> String| {
        let cells: Vec<String> = measured.iter().map(|profile| say(profile)).collect();
        format!("| {what} | {} |\n", cells.join(" | "))
    };
    let line = format!("|{}\n", "---|".repeat(measured.len() + 1));
    [
        row("", &|profile| format!("{} {}", profile.label, profile.version)),
        line,
        row("Waits for a tool, over HTTP", &|profile| timeout(profile.http)),
        row("Waits for a tool, as a command", &|profile| timeout(profile.stdio)),
        row("Its model sees of a result", &|profile| shown(profile.shown).into()),
        row("A long result", &|profile| long(profile.long_result)),
        row("Tool definitions in a request", &|profile| {
            let searched = if profile.tool_list.searched { ", fewer with its tool search" } else { "" };
            format!("{} % of what is listed{searched}", profile.tool_list.percent)
        }),
        row("A result without the promised structure", &|profile| structure(profile.missing_structure).into()),
        row("The same call again and again", &|profile| {
            profile
                .identical_calls_max
                .map_or_else(|| "is allowed".into(), |most| format!("after {most}, it ends its turn"))
        }),
        row("When it exits", &|profile| {
            if profile.ends_descendants { "ends all that its commands started" } else { "ends its commands" }.into()
        }),
    ]
    .concat()
}

fn timeout(timeout: CallTimeout) -> String {
    let waits = span(timeout.after);
    if timeout.progress_resets { format!("{waits} without progress") } else { waits }
}

fn span(span: Duration) -> String {
    match span.as_secs() {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

fn shown(part: ShownPart) -> &'static str {
    match part {
        ShownPart::Both => "text and structured content",
        ShownPart::StructuredFirst => "structured content; text where there is none",
        ShownPart::Content => "text",
    }
}

fn long(result: LongResult) -> String {
    match result {
        LongResult::Cut { above, shown } => {
            format!("is cut: prose at about {} tokens, figures at about {}", grouped(above), grouped(shown))
        }
        LongResult::File { above, shown } => {
            format!("above {} tokens goes to a file; the model sees about {}", grouped(above), grouped(shown))
        }
        LongResult::Whole => "is shown whole".into(),
    }
}

fn structure(missing: MissingStructure) -> &'static str {
    match missing {
        MissingStructure::Accepts => "is taken",
        MissingStructure::Fails => "counts as a failed call",
        MissingStructure::Refuses => "is thrown away, with an error",
        MissingStructure::Unknown => "is not known",
    }
}
