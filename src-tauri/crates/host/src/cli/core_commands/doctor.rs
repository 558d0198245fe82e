//! `taskwarden doctor`: prints what was checked, what is wrong, and how to fix it.
//!
//! The checks are in `doctor.rs` of this crate.

mod installation;

use anstyle::{AnsiColor, Style};
use api::calls::core::findings::{Finding, Grade};
use serde::Serialize;

use crate::cli::output::exit_code::{CommandResult, DONE, FAILED};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::one_line;
use crate::config::{Config, ConfigError};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    findings: &'a [Finding],
    broken: usize,
}

pub(crate) async fn run(config: Result<Config, ConfigError>, screen: &Screen) -> CommandResult {
    // Boxed because every check is in the future; one allocation in a process.
    let findings = Box::pin(installation::examine(config)).await;
    let broken = findings.iter().filter(|finding| finding.grade == Grade::Broken).count();
    if screen.is_json() {
        screen.json(&Report { findings: &findings, broken })?;
    } else {
        for finding in &findings {
            print_finding(finding, screen);
        }
        screen.line(&match broken {
            0 => "\nNo problems found.".into(),
            1 => "\nOne problem found; see above how to fix it.".to_owned(),
            many => format!("\n{many} problems found; see above how to fix them."),
        });
    }
    Ok(if broken == 0 { DONE } else { FAILED })
}

fn print_finding(finding: &Finding, screen: &Screen) {
    let (word, colour) = match finding.grade {
        Grade::Fine => ("fine", AnsiColor::Green),
        Grade::Note => ("note", AnsiColor::Yellow),
        Grade::Broken => ("broken", AnsiColor::Red),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    screen.line(&format!("{style}{word:<7}{style:#} {:<10} {}", one_line(&finding.area), one_line(&finding.message)));
    if let Some(cure) = &finding.cure {
        screen.line(&format!("{:>18} → {}", "", one_line(cure)));
    }
}
