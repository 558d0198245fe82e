//! `taskwarden doctor`: what was checked, what is wrong, and its cure.

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use super::screen::Screen;
use super::words::one_line;
use super::{DONE, Ended, FAILED};
use crate::config::{Config, ConfigError};
use crate::doctor::{Finding, Grade, examine};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    findings: &'a [Finding],
    broken: usize,
}

pub(crate) async fn run(config: Result<Config, ConfigError>, screen: &Screen) -> Ended {
    // Large because every check is in it; one allocation for a process.
    let findings = Box::pin(examine(config)).await;
    let broken = findings.iter().filter(|finding| finding.grade == Grade::Broken).count();
    if screen.is_json() {
        screen.json(&Report { findings: &findings, broken })?;
    } else {
        for finding in &findings {
            tell(finding, screen);
        }
        screen.line(&match broken {
            0 => "\nNothing is broken.".into(),
            1 => "\nOne thing is broken; its cure is above.".to_owned(),
            many => format!("\n{many} things are broken; their cures are above."),
        });
    }
    Ok(if broken == 0 { DONE } else { FAILED })
}

fn tell(finding: &Finding, screen: &Screen) {
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
