//! A person ends the process of a server, or restarts it: the actor's part, and what of a server is running.
//!
//! A process is ended with its group, in the orderly way of every close (protocol.md §7.6). The next one is started only
//! after it is gone, because two children of one server may share a lock or a port. What is recorded of it is in
//! `server_acts.rs`.

use std::sync::Arc;

use domain::ids::{AgentId, PersonId, ServerId};
use domain::server::{ServerAct, ServerAddress, ServerHealth};
use domain::task::Home;
use domain::task::status::GoneWhy;
use domain::time::Timestamp;

use crate::engine::Engine;
use crate::servers::actor::ServerActor;
use crate::servers::state::connection_tracker::ConnectionStage;
use crate::servers::state::finished_job::FinishedJob;
use crate::servers::state::task_lane::LaneUpdate;

const ENDED: &str = "a person ended its process";

/// A process of a server that runs now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProcess {
    /// The process, which leads a group of the same number.
    pub pid: u32,
    /// The agent whose own it is; `None` for the shared one.
    pub seat: Option<AgentId>,
    /// Since when this core has it.
    pub since: Timestamp,
}

impl ServerActor {
    /// Does what a person asked for.
    pub(crate) fn act(&mut self, by: PersonId, act: ServerAct) {
        self.ends_for_person(by, act);
        match act {
            ServerAct::End => self.end_process(),
            ServerAct::Restart | ServerAct::Change => self.restart(),
        }
    }

    /// What runs in the process of this connection ends because a person wants the process ended. Nothing of it is lost
    /// on a server that runs elsewhere.
    pub(crate) fn ends_for_person(&self, by: PersonId, act: ServerAct) {
        match (&self.server.address, self.connection.live()) {
            (ServerAddress::Stdio { .. }, Some(live)) => live.set_ended_by(GoneWhy::EndedByPerson { by, act }),
            (ServerAddress::Stdio { .. }, None) | (ServerAddress::Http { .. }, _) => {}
        }
    }

    fn end_process(&mut self) {
        let live = self.connection.live();
        if live.is_some() {
            self.drop_connection(ENDED, "It starts again with the next call.");
        }
        // A process that ended by itself just before is not started again, either.
        let home = live.map(|live| live.home.clone()).or_else(|| self.tracker.last_home().cloned());
        if let Some(home) = home {
            self.lose_tasks_of(&home);
        }
        match self.tracker.state {
            ConnectionStage::Connecting => self.tracker.ends_once_open = true,
            ConnectionStage::Idle => return,
            ConnectionStage::Up(_)
            | ConnectionStage::Waiting(_)
            | ConnectionStage::Closing
            | ConnectionStage::Ended => self.tracker.state = ConnectionStage::Ended,
        }
        self.tracker.failures = 0;
        self.connection.set_health(ServerHealth::Ended {
            since: self.core.time.now(),
            why: ENDED.into(),
            hint: "It starts again with the next call, or with Restart.".into(),
        });
    }

    /// Tasks that lived in the process are gone with it: nobody else can show them before it is started again.
    fn lose_tasks_of(&mut self, home: &Home) {
        let Some(why) = self.tracker.last_end(home) else { return };
        for handle in self.core.ledger.of_connection(self.connection.key) {
            if handle.home.session == home.session && handle.view.task().is_some() {
                self.apply(handle.id, LaneUpdate::Gone(why.clone()));
            }
        }
    }

    fn restart(&mut self) {
        let Some(live) = self.connection.live() else {
            self.tracker.failures = 0;
            match self.tracker.state {
                ConnectionStage::Connecting => self.tracker.stale = true,
                ConnectionStage::Closing => {}
                ConnectionStage::Idle
                | ConnectionStage::Up(_)
                | ConnectionStage::Waiting(_)
                | ConnectionStage::Ended => self.connect(),
            }
            return;
        };
        self.drop_connection("a person restarted it", "It reconnects automatically.");
        self.tracker.failures = 0;
        self.tracker.state = ConnectionStage::Closing;
        self.connection.set_health(ServerHealth::Connecting);
        let upstream = Arc::clone(&live.upstream);
        self.jobs.push(Box::pin(async move {
            upstream.close(false).await;
            FinishedJob::Closed
        }));
    }

    /// The connection that a person restarted is gone.
    pub(crate) fn closed_for_person(&mut self) {
        if let ConnectionStage::Closing = self.tracker.state
            && !self.is_stopping()
        {
            self.connect();
        }
    }
}

impl Engine {
    /// A person does this to a server: its log says so.
    pub(crate) fn note_server_act(&self, id: ServerId, act: ServerAct, by: &PersonId) {
        let core = &self.core;
        core.connections.observed(id, &core.policy).log.asked(by, act, core.time.now());
    }

    /// The processes of a local server that run now.
    #[must_use]
    pub fn server_processes(&self, id: ServerId) -> Vec<ServerProcess> {
        let connections = self.core.connections.of_server(id);
        let mut running: Vec<_> = connections
            .iter()
            .filter_map(|connection| {
                let (pid, since) = connection.live()?.process?;
                Some(ServerProcess { pid, seat: connection.key.seat, since })
            })
            .collect();
        running.sort_by_key(|process| (process.seat.is_some(), process.pid));
        running
    }

    /// The agents of calls in flight that are not shown as tasks yet; they end with the process, too.
    #[must_use]
    pub fn quick_calls(&self, id: ServerId) -> Vec<AgentId> {
        let connections = self.core.connections.of_server(id);
        connections.iter().flat_map(|connection| connection.agents_without_row()).flatten().collect()
    }
}
