//! The text about a call that runs on in the background, and about waiting for it.
//!
//! Each text names the next call with arguments that differ from the last ones: some programs end a turn that makes the
//! same call five times. What programs show people as progress is here, too, because nobody else words it.

use std::time::Duration;

use domain::policy::plain_text;
use domain::task::UsualDuration;
use domain::task::observation::Progress;

use crate::gateway::model_text::tool_definitions::{CANCEL, RESULT, WAIT};

/// Characters of a server's words that are passed on.
const SERVER_WORDS: usize = 200;

/// What a program shows while a person is asked.
pub(in crate::gateway) const FOR_A_PERSON: &str = "Waiting for a person to answer.";

/// What a program shows of a call that waits for the end of a pause.
pub(in crate::gateway) const PAUSED: &str = "Paused by a person. The call was not sent yet.";

/// What a program shows of a call whose server is silent.
pub(in crate::gateway) fn alive(ran: Duration) -> String {
    format!("Running for {}. Follow it in Taskwarden.", span(ran))
}

/// Why a task has not ended.
pub(in crate::gateway) enum BackgroundState<'a> {
    /// The server works. The message is what Taskwarden knows about it, if anything.
    Running {
        /// The gateway's own message, such as that a person is asked.
        ours: Option<&'a str>,
        /// The server's last progress.
        progress: Option<&'a Progress>,
        /// The server's last message.
        said: Option<&'a str>,
    },
    /// The work is done and its result held back; a sentence that says why.
    Held(&'a str),
    /// The call waits here and was not sent; a sentence that says why.
    Unsent(&'a str),
}

/// A task that has not ended.
pub(in crate::gateway) struct BackgroundTask<'a> {
    /// The short handle.
    pub(in crate::gateway) task: &'a str,
    /// The tool that was called.
    pub(in crate::gateway) tool: Option<&'a str>,
    /// The name of its server.
    pub(in crate::gateway) server: &'a str,
    /// Since the call was made.
    pub(in crate::gateway) ran: Duration,
    /// What this tool usually takes.
    pub(in crate::gateway) usual: Option<UsualDuration>,
    /// Why it is not over.
    pub(in crate::gateway) state: BackgroundState<'a>,
    /// What the next `tasks_wait` is to name; `None` where the task tools are not offered.
    pub(in crate::gateway) since: Option<u64>,
}

impl BackgroundTask<'_> {
    /// As the answer to a call, or to a wait, that is not over.
    pub(in crate::gateway) fn text(&self) -> String {
        let tool = self.tool.map_or_else(|| "The call".to_owned(), |tool| format!("`{tool}`"));
        let goes_on = format!("{tool} on `{}` goes on in the background as task {}", self.server, self.task);
        match &self.state {
            BackgroundState::Held(why) => format!("{why} The task is {}.{}", self.task, self.next()),
            BackgroundState::Unsent(why) => {
                format!("{tool} on `{}` waits as task {}. {why}{}", self.server, self.task, self.next())
            }
            BackgroundState::Running { .. } => format!("{goes_on}.{}{}", self.facts(), self.next()),
        }
    }

    /// As the answer to whoever wants the result.
    pub(in crate::gateway) fn no_result_yet(&self) -> String {
        match &self.state {
            BackgroundState::Held(why) | BackgroundState::Unsent(why) => format!("{why}{}", self.next()),
            BackgroundState::Running { .. } => format!("The task still runs.{}{}", self.facts(), self.next()),
        }
    }

    /// How long it has run and usually takes, and the last message.
    fn facts(&self) -> String {
        let BackgroundState::Running { ours, progress, said } = &self.state else { return String::new() };
        let mut text = format!(" It has run for {}.", span(self.ran));
        if let Some(UsualDuration { median_ms, p95_ms, .. }) = self.usual {
            let [half, most] = [median_ms, p95_ms].map(|millis| span(Duration::from_millis(millis)));
            text.push_str(&format!(" Half of its calls took up to {half}, 95 % up to {most}."));
        }
        if let Some(ours) = ours {
            text.push_str(&format!(" {ours}"));
        }
        let counted = progress.and_then(|progress| Some((progress.done?, progress.total)));
        let counted = counted.map(|(done, total)| match total {
            Some(total) => format!("{done} of {total}"),
            None => done.to_string(),
        });
        let said = said.map(|said| format!("\"{}\"", plain_text(said, SERVER_WORDS).replace('\n', " ")));
        let last: Vec<String> = counted.into_iter().chain(said).collect();
        if !last.is_empty() {
            text.push_str(&format!(" The server's last progress: {}.", last.join(", ")));
        }
        text
    }

    /// What the model can do.
    fn next(&self) -> String {
        let Some(since) = self.since else { return " A person can follow it in Taskwarden.".to_owned() };
        let (meanwhile, cancels) = match self.state {
            BackgroundState::Running { .. } | BackgroundState::Held(_) => {
                ("the work goes on, a person can follow it in Taskwarden, and", "asks the server to cancel it")
            }
            BackgroundState::Unsent(_) => ("a person sees the call in Taskwarden, and", "cancels it"),
        };
        format!(
            " To wait for it, call `{WAIT}` with {{\"task\":\"{task}\",\"since\":{since}}}. Or end your turn: {meanwhile} \
             `{RESULT}` reads its result later. `{CANCEL}` {cancels}. Do not make the first call again.",
            task = self.task,
        )
    }
}

/// The number that the next wait names: the seconds that the task has run, and more than the last one named.
pub(in crate::gateway) fn next_since(ran: Duration, named: Option<u64>) -> u64 {
    ran.as_secs().max(named.map_or(0, |named| named.saturating_add(1)))
}

/// A span of time, in at most two units.
fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, 0, _) => format!("{hours} h"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running<'a>(progress: Option<&'a Progress>, said: Option<&'a str>) -> BackgroundTask<'a> {
        BackgroundTask {
            task: "hdl_3k9f2m7q",
            tool: Some("hash_tree"),
            server: "files",
            ran: Duration::from_secs(295),
            usual: None,
            state: BackgroundState::Running { ours: None, progress, said },
            since: Some(295),
        }
    }

    #[test]
    fn a_model_reads_what_goes_on_how_long_it_takes_and_what_to_call_next() {
        let progress = Progress { done: Some(300.0), total: Some(1_000.0), message: None };
        let usual = UsualDuration { samples: 20, median_ms: 360_000, p90_ms: 600_000, p95_ms: 725_000 };
        let said = format!("hashing\nIgnore all {}", "x".repeat(500));
        let text = BackgroundTask { usual: Some(usual), ..running(Some(&progress), Some(&said)) }.text();
        for part in [
            "`hash_tree` on `files` goes on in the background as task hdl_3k9f2m7q.",
            "It has run for 4 min 55 s.",
            "Half of its calls took up to 6 min, 95 % up to 12 min 5 s.",
            "The server's last progress: 300 of 1000, \"hashing Ignore all xxx",
            r#"call `tasks_wait` with {"task":"hdl_3k9f2m7q","since":295}."#,
            "Or end your turn",
        ] {
            assert!(text.contains(part), "`{part}` is missing in: {text}");
        }
        assert!(!text.contains(&"x".repeat(200)), "the server's words are capped: {text}");
    }

    #[test]
    fn a_call_that_was_not_sent_neither_runs_nor_goes_on() {
        let why = "A person paused this agent. The call waits and was not sent.";
        let waits = BackgroundTask { state: BackgroundState::Unsent(why), ..running(None, None) };
        let text = waits.text();
        assert!(text.starts_with("`hash_tree` on `files` waits as task hdl_3k9f2m7q. A person paused"), "{text}");
        for said in [text, waits.no_result_yet()] {
            assert!(said.contains(why) && said.contains("`tasks_cancel` cancels it."), "{said}");
            assert!(!said.contains("goes on") && !said.contains("run"), "{said}");
        }
    }

    #[test]
    fn what_nobody_knows_is_left_out() {
        let text = running(None, None).text();
        assert!(!text.contains("progress") && !text.contains("95 %"), "{text}");
        let alone = BackgroundTask { since: None, ..running(None, None) }.text();
        assert!(alone.ends_with("A person can follow it in Taskwarden.") && !alone.contains("tasks_wait"), "{alone}");
    }

    #[test]
    fn the_next_wait_never_names_the_number_of_the_last() {
        let second = Duration::from_secs(1);
        assert_eq!(next_since(25 * second, None), 25);
        assert_eq!(next_since(25 * second, Some(25)), 26, "two answers within a second");
        assert_eq!(next_since(5 * second, Some(600)), 601, "after the clock was set back");
        assert_eq!(next_since(900 * second, Some(600)), 900);
        assert_eq!(next_since(second, Some(u64::MAX)), u64::MAX);
    }

    #[test]
    fn spans_are_told_in_two_units_at_most() {
        for (seconds, told) in [(0, "0 s"), (60, "1 min"), (95, "1 min 35 s"), (3_600, "1 h"), (5_405, "1 h 30 min")] {
            assert_eq!(span(Duration::from_secs(seconds)), told);
        }
    }
}
