//! A person ends, restarts or changes a server: the row before it, the act, and the row that says what came of it.
//!
//! The wish is stored together with its audit row before anything is done, and taken away together with the row of the
//! outcome (decision 0122). A core that finds one at its start follows one that ended in between: it ends what is left of
//! the processes that the person saw, and no other, and records that. A change is on record with the server itself, and
//! has no wish. How a process ends is in `connections/process_end.rs`, what its actor does in `process.rs`; who may ask is
//! the api's.

use std::sync::Arc;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{PersonId, ServerId};
use domain::policy::plain_text;
use domain::ports::RegistryError;
use domain::server::{ServerAct, ServerHealth};
use domain::time::Timestamp;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::connections::connection::ServerConnection;
use crate::connections::process_end::{self, EndedConnection, WatchedEnd};
use crate::connections::wait::await_health;
use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// What lies among what people keep; each wish has a key of its own.
const KIND: &str = "serverActs";
/// A note of the audit log is one line.
const NOTE_CHARS: usize = 300;

/// What a person wants done to a server, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ServerWish {
    server: ServerId,
    /// The server may be removed before its outcome is recorded.
    name: String,
    act: ServerAct,
    by: PersonId,
    at: Timestamp,
    /// The first processes of its connections when the person asked.
    pids: Vec<u32>,
}

const fn act_word(act: ServerAct) -> &'static str {
    match act {
        ServerAct::End => "end",
        ServerAct::Restart => "restart",
        ServerAct::Change => "change",
    }
}

impl ServerWish {
    /// `None` for a row of another version.
    fn read(text: &str) -> Option<Self> {
        let row: Value = serde_json::from_str(text).ok()?;
        let word = row.get("act")?.as_str()?;
        let act = [ServerAct::End, ServerAct::Restart].into_iter().find(|act| act_word(*act) == word)?;
        let pids = row.get("pids")?.as_array()?.iter();
        Some(Self {
            server: row.get("server")?.as_str()?.parse().ok()?,
            name: row.get("name")?.as_str()?.to_owned(),
            act,
            by: PersonId::new(row.get("by")?.as_str()?),
            at: Timestamp::from_millis(row.get("at")?.as_i64()?),
            pids: pids.filter_map(|pid| u32::try_from(pid.as_u64()?).ok()).collect(),
        })
    }

    fn written(&self) -> String {
        json!({
            "server": self.server.to_string(),
            "name": self.name,
            "act": act_word(self.act),
            "by": self.by.to_string(),
            "at": self.at.as_millis(),
            "pids": self.pids,
        })
        .to_string()
    }
}

/// What came of an act.
struct ActOutcome {
    at: Timestamp,
    words: String,
    /// Processes that were seen to run after it.
    left: Vec<u32>,
}

impl ActOutcome {
    fn of(wish: &ServerWish, at: Timestamp, words: String, left: Vec<u32>) -> Self {
        let words = match wish.act {
            ServerAct::End => words,
            ServerAct::Restart | ServerAct::Change => format!("{words}; it connects again"),
        };
        Self { at, words, left }
    }

    fn of_ended(wish: &ServerWish, at: Timestamp, ended: &[EndedConnection]) -> Self {
        let words: Vec<String> = ended.iter().map(EndedConnection::words).collect();
        let words = if words.is_empty() { "nothing of it ran".to_owned() } else { words.join("; ") };
        Self::of(wish, at, words, ended.iter().flat_map(left_of).collect())
    }
}

impl Engine {
    /// Ends or restarts all that runs of a server, and waits until what ran is gone, as far as one close takes. `asked` is
    /// the row that says that a person asked for it; it is on record before anything is done. Returns the processes that
    /// were seen to run afterwards.
    ///
    /// # Errors
    /// When it cannot be recorded: then nothing was done. When the core stops meanwhile: then the next one goes on with it.
    pub async fn act_on_server(
        &self,
        id: ServerId,
        act: ServerAct,
        by: &PersonId,
        asked: AuditEvent,
    ) -> Result<Vec<u32>, EngineError> {
        let core = &self.core;
        let wish = self.server_wish(id, act, by, asked.at);
        // Two people may ask at once.
        let key = format!("{id} {:08x}", core.time.random.bits() & 0xffff_ffff);
        core.registry.desk_decide(KIND, &key, Some(wish.written()), vec![asked]).await?;
        self.note_server_act(id, act, by);
        let (tell, told) = oneshot::channel();
        let held = Arc::clone(core);
        // Whoever asked may go away before it is over.
        core.supervisor.spawn("server act", async move {
            let outcome = carry_out(&held, &wish).await;
            let recorded = record(&held, Some(key.as_str()), &wish, &outcome).await;
            let _ = tell.send(outcome.left.clone());
            if recorded.is_err() {
                must_record(&held, Some(key.as_str()), &wish, &outcome).await;
            }
        });
        told.await.map_err(|_| EngineError::Stopping)
    }

    /// A person changed the configuration of a server, which is on record: what runs of the old one ends, and it connects
    /// with the new one. Where processes end, a row says later what came of them.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn server_changed_by(&self, id: ServerId, by: &PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let wish = self.server_wish(id, ServerAct::Change, by, core.time.now());
        let connections = core.connections.of_server(id).into_iter();
        let with_process = connections.filter_map(|connection| {
            let live = connection.live().filter(|live| live.process.is_some())?;
            Some(WatchedEnd::begin(core, &connection, &live, None))
        });
        let watched: Vec<WatchedEnd> = with_process.collect();
        self.note_server_act(id, ServerAct::Change, by);
        self.server_changed(id).await?;
        if watched.is_empty() {
            return Ok(());
        }
        let held = Arc::clone(core);
        // A server may take its time to end, and the new one is there already.
        core.supervisor.spawn("server act", async move {
            let ended = join_all(watched.into_iter().map(|watched| watched.ended(&held))).await;
            let outcome = ActOutcome::of_ended(&wish, held.time.now(), &ended);
            must_record(&held, None, &wish, &outcome).await;
        });
        Ok(())
    }

    fn server_wish(&self, id: ServerId, act: ServerAct, by: &PersonId, at: Timestamp) -> ServerWish {
        ServerWish {
            server: id,
            name: self.core.server_name(id).to_string(),
            act,
            by: by.clone(),
            at,
            pids: self.server_processes(id).into_iter().map(|process| process.pid).collect(),
        }
    }
}

/// Goes on with acts that an earlier core recorded and whose outcome nobody recorded.
pub(crate) async fn go_on(core: &Arc<EngineCore>) {
    let rows = match core.registry.desk_list(KIND).await {
        Ok(rows) => rows,
        Err(error) => {
            tracing::error!(%error, "which servers people ended before the restart cannot be read");
            return;
        }
    };
    for row in rows {
        // What a newer version wrote is left for it.
        let Some(wish) = ServerWish::read(&row.value) else { continue };
        let held = Arc::clone(core);
        core.supervisor.spawn("server act", async move {
            let outcome = finish(&held, &wish).await;
            must_record(&held, Some(row.key.as_str()), &wish, &outcome).await;
        });
    }
}

/// Does what a person asked for to all connections of the server.
async fn carry_out(core: &Arc<EngineCore>, wish: &ServerWish) -> ActOutcome {
    let connections = core.connections.of_server(wish.server).into_iter();
    let ending = connections.map(|connection| async move {
        match connection.live() {
            Some(live) => Some(process_end::end(core, &connection, &live, wish.act, &wish.by, None).await),
            None => {
                connection.request_act(wish.act, &wish.by);
                None
            }
        }
    });
    let ended: Vec<EndedConnection> = join_all(ending).await.into_iter().flatten().collect();
    ActOutcome::of_ended(wish, core.time.now(), &ended)
}

fn left_of(ended: &EndedConnection) -> impl Iterator<Item = u32> {
    ended.left().iter().map(|process| process.pid)
}

/// What came of one connection of a server whose act an earlier core began.
#[derive(Default)]
struct FinishedPart {
    words: String,
    /// The processes that the words are about.
    pids: Vec<u32>,
    left: Vec<u32>,
    /// Another process of it may run where this core cannot see it.
    is_unsure: bool,
}

/// Ends what is left of an act that an earlier core began, once it is known which processes this core took over. A process
/// that this core started is none that the person wanted to end.
async fn finish(core: &Arc<EngineCore>, wish: &ServerWish) -> ActOutcome {
    let connections = core.connections.of_server(wish.server).into_iter();
    let ending = connections.map(|connection| async move { finish_part(core, &connection, wish).await });
    let parts: Vec<FinishedPart> = join_all(ending).await.into_iter().flatten().collect();
    let mut words: Vec<String> = parts.iter().map(|part| part.words.clone()).collect();
    let gone = wish.pids.iter().filter(|pid| !parts.iter().any(|part| part.pids.contains(pid)));
    let gone: Vec<String> = gone.map(u32::to_string).collect();
    if !gone.is_empty() && !parts.iter().any(|part| part.is_unsure) {
        let (noun, were) = if gone.len() == 1 { ("process", "was") } else { ("processes", "were") };
        words.push(format!("{noun} {} {were} gone", gone.join(" ")));
    }
    if words.is_empty() {
        words.push("nothing of it was left to end".to_owned());
    }
    let words = format!("cut off; at the next start of Taskwarden {}", words.join("; "));
    let left = parts.into_iter().flat_map(|part| part.left).collect();
    ActOutcome::of(wish, core.time.now(), words, left)
}

/// `None` where this connection has nothing of what ran.
async fn finish_part(
    core: &Arc<EngineCore>,
    connection: &Arc<ServerConnection>,
    wish: &ServerWish,
) -> Option<FinishedPart> {
    let health = tokio::select! {
        health = await_health(connection, core.opening_limit()) => health,
        // There was nothing to take over.
        () = connection.leave.cancelled() => connection.health(),
    };
    let is_opening = match health {
        ServerHealth::Unknown | ServerHealth::Connecting => true,
        ServerHealth::Up { .. }
        | ServerHealth::Down { .. }
        | ServerHealth::Ended { .. }
        | ServerHealth::Blocked { .. } => false,
    };
    let live = connection.live();
    let own = live.as_ref().and_then(|live| live.process).map(|(pid, _)| pid);
    if let (Some(live), Some(pid)) = (&live, own)
        && live.is_taken_over
        && wish.pids.contains(&pid)
    {
        connection.observed.log.asked(&wish.by, wish.act, core.time.now());
        let ended = process_end::end(core, connection, live, wish.act, &wish.by, None).await;
        let left = left_of(&ended).collect();
        return Some(FinishedPart { words: ended.words(), pids: vec![pid], left, is_unsure: false });
    }
    let seat = connection.key.seat;
    let why = core.connector.out_of_reach(wish.server, seat, wish.at, own)?;
    // What this core starts is not ended with what an earlier one left.
    let ended =
        if live.is_none() && !is_opening { core.connector.end_kept(wish.server, seat).await } else { Vec::new() };
    if ended.is_empty() {
        return Some(FinishedPart {
            words: format!("it may go on: {why}"),
            is_unsure: true,
            ..FinishedPart::default()
        });
    }
    let words: Vec<String> = ended.iter().map(|pid| format!("process {pid} was ended")).collect();
    Some(FinishedPart { words: words.join("; "), pids: ended, ..FinishedPart::default() })
}

/// Records what came of it, and takes the wish with this key away, where it was stored, as one change.
async fn record(
    core: &EngineCore,
    key: Option<&str>,
    wish: &ServerWish,
    outcome: &ActOutcome,
) -> Result<(), RegistryError> {
    let fact = AuditEvent {
        at: outcome.at,
        actor: Actor::System("server_acts"),
        verb: Verb::ServerActEnded,
        subject: Subject::Server(wish.server),
        note: plain_text(&format!("{}: {}", wish.name, outcome.words), NOTE_CHARS),
    };
    match key {
        Some(key) => core.registry.desk_decide(KIND, key, None, vec![fact]).await,
        None => core.registry.record(vec![fact]).await,
    }
}

/// Records what came of it, and tries again while that is not possible. Where this core ends first, the next one says what
/// it finds then.
async fn must_record(core: &EngineCore, key: Option<&str>, wish: &ServerWish, outcome: &ActOutcome) {
    let mut failures = 0;
    while let Err(error) = record(core, key, wish, outcome).await {
        if error == RegistryError::Closed {
            return;
        }
        failures += 1;
        if failures == 1 {
            tracing::error!(server.name = %wish.name, %error, "what came of the end of a server cannot be recorded, trying again");
        }
        core.pause(failures).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_reads_as_it_was_written() {
        for act in [ServerAct::End, ServerAct::Restart] {
            let wish = ServerWish {
                server: ServerId::from_random(1),
                name: "files".into(),
                act,
                by: PersonId::new("ada"),
                at: Timestamp::from_millis(7),
                pids: vec![4_711, 4_712],
            };
            assert_eq!(ServerWish::read(&wish.written()), Some(wish));
        }
        assert_eq!(ServerWish::read(r#"{"act":"explode"}"#), None, "a row of another version is not acted on");
    }
}
