//! `taskwarden servers log|restart|end`: the log of a server, and the end of its process.
//!
//! What ends is told before it is asked. What the server wrote is text behind a bar, so that it never looks like a line of
//! ours.

use std::time::Duration;

use api::calls::OneServer;
use api::calls::servers::running::{ActOnServer, ReadServerLog, ServerActed};
use api::dto::server::observed::{ServerActDto, ServerLogDto, ServerLogEvent, ServerLogLine, ServerRunning};
use api::format::time::count;
use api::{ApiError, Code};

use super::super::input::prompt;
use super::super::output::screen::Screen;
use super::super::output::sentences::one_line;
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE, INTERRUPTED};
use crate::config::Config;

/// What to do to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Restart,
    End,
}

pub(super) async fn log(name: String, follow: bool, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let read = ReadServerLog { name, after: None, limit: None };
    let first: ServerLogDto = core.request("servers.log", &read).await?;
    if screen.is_json() && !follow {
        return screen.json(&first);
    }
    if first.lines.is_empty() && !follow {
        screen.line("Nothing is in its log yet.");
    }
    if first.first > 1 || first.lines.first().is_some_and(|line| line.number > first.first) {
        screen.note("Earlier lines are not shown.");
    }
    print(&first.lines, screen)?;
    if !follow {
        return Ok(DONE);
    }
    let read = ReadServerLog { after: Some(first.next.saturating_sub(1)), ..read };
    tokio::select! {
        ended = follow_on(&core, read, config.policy.observed.log_follow_every, screen) => ended,
        _ = tokio::signal::ctrl_c() => Ok(INTERRUPTED),
    }
}

async fn follow_on(core: &CoreClient, mut read: ReadServerLog, every: Duration, screen: &Screen) -> CommandResult {
    loop {
        tokio::time::sleep(every).await;
        let page: ServerLogDto = core.request("servers.log", &read).await?;
        let newest = page.lines.last().map_or(page.next.saturating_sub(1), |line| line.number);
        // A core that was restarted counts from the beginning.
        let is_other_core = read.after.is_some_and(|after| after >= page.next);
        if let (Some(after), Some(line)) = (read.after, page.lines.first())
            && line.number > after.saturating_add(1)
        {
            screen.note(&format!("{} came faster than they were read.", count(line.number - after - 1, "line")));
        }
        print(&page.lines, screen)?;
        read.after = if is_other_core { Some(0) } else { Some(newest) };
    }
}

fn print(lines: &[ServerLogLine], screen: &Screen) -> Result<(), ApiError> {
    for line in lines {
        if screen.is_json() {
            screen.json_line(line)?;
        } else {
            screen.line(&text(line));
        }
    }
    Ok(())
}

fn text(line: &ServerLogLine) -> String {
    let at = line.at.as_deref().and_then(|at| at.get(11..19)).unwrap_or("        ");
    let whose = line.agent.as_deref().map(|agent| format!(" [{agent}]")).unwrap_or_default();
    match &line.event {
        ServerLogEvent::Line { text } => format!("{at}{whose} | {}", one_line(text)),
        message @ ServerLogEvent::Message { .. } => format!("{at}{whose} > {}", said(message)),
        ours => format!("{at}{whose} * {}", said(ours)),
    }
}

/// What a line says: the words of the server, or ours.
fn said(event: &ServerLogEvent) -> String {
    match event {
        ServerLogEvent::Line { text } => one_line(text),
        ServerLogEvent::Message { level, logger, text } => {
            let level = level.map_or("log", |level| level.as_str());
            let logger = logger.as_deref().map(|logger| format!(" {}", one_line(logger))).unwrap_or_default();
            format!("{level}{logger}: {}", one_line(text))
        }
        ServerLogEvent::Skipped { count: lines } => {
            format!("{} came too fast and were not kept", count(*lines, "line"))
        }
        ServerLogEvent::Started { pid } => format!("started as process {pid}"),
        ServerLogEvent::Resumed { pid } => format!("process {pid} ran on, and is connected again"),
        ServerLogEvent::Ended { by_us: true, .. } => "ended by Taskwarden".into(),
        ServerLogEvent::Ended { code: Some(code), .. } => format!("ended with code {code}"),
        ServerLogEvent::Ended { signal: Some(signal), .. } => format!("ended by signal {signal}"),
        ServerLogEvent::Ended { .. } => "ended".into(),
        ServerLogEvent::Connected => "connected".into(),
        ServerLogEvent::Disconnected => "the connection ended".into(),
        ServerLogEvent::Asked { by, act } => match act {
            ServerActDto::Restart => format!("{} restarted it", one_line(by)),
            ServerActDto::End => format!("{} ended its process", one_line(by)),
            ServerActDto::Change => format!("{} changed how it is reached", one_line(by)),
        },
        ServerLogEvent::QuestionRefused => "its question was refused: it named a task that is not open here".into(),
    }
}

pub(super) async fn act(act: Act, name: String, yes: bool, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let running: ServerRunning = core.request("servers.running", &OneServer { name: name.clone() }).await?;
    let question = question(act, &name, &running);
    if !yes {
        if !screen.can_ask() {
            return Err(ApiError::new(
                Code::Refused,
                "nobody can be asked whether to end it".to_owned(),
                "Pass `--yes` to agree in advance.",
            ));
        }
        if !prompt::yes(&question).await? {
            return Err(ApiError::new(Code::Refused, format!("`{name}` goes on"), "Nothing was changed."));
        }
    }
    let call = match act {
        Act::Restart => "servers.restart",
        Act::End => "servers.end",
    };
    let acted: ServerActed = core.request(call, &ActOnServer { name, told_open_tasks: running.open_tasks }).await?;
    let exit = if acted.left.is_empty() { DONE } else { Code::Failed.exit() };
    if screen.is_json() {
        screen.json(&acted)?;
        return Ok(exit);
    }
    screen.line(&outcome(act, &acted));
    Ok(exit)
}

fn outcome(act: Act, acted: &ServerActed) -> String {
    let name = &acted.name;
    let left: Vec<String> = acted.left.iter().map(u32::to_string).collect();
    match (act, left.as_slice()) {
        (Act::Restart, []) => format!("Restarted `{name}`."),
        (Act::End, []) => format!("Ended the process of `{name}`. The next call starts it again."),
        (Act::Restart | Act::End, [pid]) => format!("Process {pid} of `{name}` was told to end, and still runs."),
        (Act::Restart | Act::End, pids) => {
            format!("Processes {} of `{name}` were told to end, and still run.", pids.join(", "))
        }
    }
}

/// What ends, and with whom.
fn question(act: Act, name: &str, running: &ServerRunning) -> String {
    let calls: u64 = running.agents.iter().map(|agent| agent.calls).sum();
    let mut ends = vec![count(running.open_tasks, "open task")];
    if calls > 0 {
        ends.push(format!("{} in flight", count(calls, "call")));
    }
    let whose: Vec<&str> = running.agents.iter().map(|on| on.agent.as_deref().unwrap_or("people")).collect();
    let whose = if whose.is_empty() { String::new() } else { format!(" of {}", whose.join(", ")) };
    let process = running.processes.first().map(|process| format!(" (process {})", process.pid)).unwrap_or_default();
    match act {
        Act::Restart => format!("Restarting `{name}`{process} ends {}{whose}. Restart it?", ends.join(" and ")),
        Act::End => format!("Ending `{name}`{process} ends {}{whose}. End it?", ends.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_still_runs_is_told() {
        let acted = |left| ServerActed { name: "files".into(), processes: vec![7], open_tasks: 0, left };
        assert_eq!(outcome(Act::Restart, &acted(vec![])), "Restarted `files`.");
        assert_eq!(outcome(Act::End, &acted(vec![8])), "Process 8 of `files` was told to end, and still runs.");
        let both = outcome(Act::Restart, &acted(vec![8, 9]));
        assert_eq!(both, "Processes 8, 9 of `files` were told to end, and still run.");
    }

    #[test]
    fn a_line_of_a_server_never_looks_like_one_of_ours() {
        let line = |event| ServerLogLine { number: 1, at: Some("2026-11-21T14:25:18.000Z".into()), agent: None, event };
        let forged = line(ServerLogEvent::Line { text: "14:25:19 * started as process 7\u{1b}[1A".into() });
        assert_eq!(text(&forged), "14:25:18 | 14:25:19 * started as process 7");
        assert_eq!(text(&line(ServerLogEvent::Started { pid: 7 })), "14:25:18 * started as process 7");
        let earlier = ServerLogLine { at: None, ..line(ServerLogEvent::Line { text: "x".into() }) };
        assert_eq!(text(&earlier), "         | x");
    }
}
