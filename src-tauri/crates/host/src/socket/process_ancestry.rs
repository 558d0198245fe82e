//! Whether the process at the other end of the socket can be proven to be a person's (decision 0016).
//!
//! Follows its parents to a known root. A process below the core, a keeper, a bridge or a known agent is theirs; with a
//! gap in the chain, such as an adopted orphan, nothing is proven. It refuses nobody: `peer.rs` does.

use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::os::process_table::{INIT, Process, ProcessId, ProcessTable};

/// Longer chains do not occur, and neither do loops; the limit guards against both.
const GENERATIONS_MAX: usize = 64;

/// What the ancestors of a process prove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PeerStanding {
    /// Its ancestors are known up to a root, and none is an agent's or a server's.
    Person,
    /// A server, a keeper, a bridge or an agent is among them.
    Descendant,
    /// Its descent cannot be proven.
    Unproven(AncestryGap),
}

/// What is missing for a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AncestryGap {
    /// The process that opened the connection has ended.
    Gone,
    /// The system does not say which process it is: another pid namespace, or no such facility.
    Unseen,
    /// It runs in a container.
    Container,
    /// This process on the way up ended while it was looked at, or may not be seen.
    Unreadable(u32),
    /// What started this process is gone, so that anything may have started it.
    Orphan(u32),
    /// It has the limit that keepers give to what servers start.
    ServerMark,
}

/// Which processes belong to agents, and which are known to be a person's.
pub(crate) struct Ancestry {
    table: ProcessTable,
    core: u32,
    /// Processes that started the core and are not an agent's.
    starters: Vec<ProcessId>,
    agents: Mutex<VecDeque<Agent>>,
    agents_max: usize,
    /// Whether what started a bridge is an agent's as well.
    is_strict: bool,
    /// Whether the core left the processes that started it, so that its parent is one that adopts orphans.
    is_detached: bool,
}

/// Processes that started a core, read while the core was their descendant.
#[derive(Debug, Clone)]
pub(crate) struct Starters(Vec<ProcessId>);

impl Starters {
    /// Reads which processes started this one and are not an agent's.
    pub(crate) fn read() -> Self {
        Self(Ancestry::new(ProcessTable::of_system(), std::process::id(), 0, false).starters)
    }
}

/// Whether this process was started, at whatever distance, by what a bridge or a keeper runs. A core that was is nobody's
/// proof of being a person: its first sign-in link would be an agent's or a server's.
pub(crate) fn is_below_agent() -> bool {
    Ancestry::new(ProcessTable::of_system(), std::process::id(), 0, false).is_core_below_agent()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Agent {
    process: ProcessId,
    session: u32,
}

impl Ancestry {
    /// Knows no agent yet; keeps at most `agents_max` processes of agents, the oldest are forgotten first.
    pub(crate) fn new(table: ProcessTable, core: u32, agents_max: usize, is_strict: bool) -> Self {
        let (starters, agents) = (Vec::new(), Mutex::default());
        let mut ancestry = Self { table, core, starters, agents, agents_max, is_strict, is_detached: false };
        ancestry.starters = ancestry.starters_of(core);
        ancestry
    }

    /// The core left what started it: its parents of this moment say nothing about persons (decision 0024).
    pub(crate) fn set_detached(&mut self, starters: Starters) {
        self.starters = starters.0;
        self.is_detached = true;
    }

    /// What the descent of the process proves.
    pub(crate) fn standing(&self, peer: ProcessId) -> PeerStanding {
        if self.table.is_in_nested_namespace(peer.pid) {
            return PeerStanding::Unproven(AncestryGap::Container);
        }
        let standing = match self.walk(peer) {
            // Its parents may all have been killed; what it inherited from a keeper stays.
            PeerStanding::Person if self.table.has_server_mark(peer.pid) => {
                PeerStanding::Unproven(AncestryGap::ServerMark)
            }
            standing => standing,
        };
        // A process that was replaced or adopted while its parents were read was not the one that was judged.
        let is_same = self.table.process(peer.pid).is_some_and(|now| now.identity() == peer);
        if is_same || standing == PeerStanding::Descendant {
            standing
        } else {
            PeerStanding::Unproven(AncestryGap::Gone)
        }
    }

    fn walk(&self, peer: ProcessId) -> PeerStanding {
        let Some(mut at) = self.table.process(peer.pid) else { return PeerStanding::Unproven(AncestryGap::Gone) };
        if at.identity() != peer {
            return PeerStanding::Unproven(AncestryGap::Gone);
        }
        for _ in 0..GENERATIONS_MAX {
            if self.is_of_agent(&at) {
                return PeerStanding::Descendant;
            }
            if at.parent == self.core {
                return PeerStanding::Descendant;
            }
            // Zero is above the first process of the namespace: what has it was put here from outside, or is the first.
            if at.parent == 0 {
                return PeerStanding::Person;
            }
            let Some(parent) = self.table.process(at.parent) else {
                return PeerStanding::Unproven(AncestryGap::Unreadable(at.parent));
            };
            // A parent is older than its child; anything else has taken the number of the parent.
            if parent.started > at.started {
                return PeerStanding::Unproven(AncestryGap::Unreadable(at.parent));
            }
            if self.adopts_orphans(&parent) {
                return if self.is_root(&at, &parent) {
                    PeerStanding::Person
                } else {
                    PeerStanding::Unproven(AncestryGap::Orphan(at.pid))
                };
            }
            at = parent;
        }
        PeerStanding::Unproven(AncestryGap::Unreadable(at.pid))
    }

    fn is_of_agent(&self, process: &Process) -> bool {
        let identity = process.identity();
        self.agents.lock().iter().any(|agent| agent.process == identity) || self.is_bridge_or_keeper(process.pid)
    }

    /// Whether its children may be somebody else's that it adopted: the first process, a user's service manager, and
    /// what adopted this core, because it adopts what servers of a killed core leave behind. Other adopters stand below
    /// these and adopt only what descends from them.
    fn adopts_orphans(&self, process: &Process) -> bool {
        process.pid == INIT || self.is_user_manager(process) || self.has_adopted_core(process)
    }

    fn has_adopted_core(&self, process: &Process) -> bool {
        self.is_detached && self.table.process(self.core).is_some_and(|core| core.parent == process.pid)
    }

    fn is_user_manager(&self, process: &Process) -> bool {
        process.parent == INIT
            && self
                .table
                .control_group(process.pid)
                .is_some_and(|group| group.contains("/user@") && group.ends_with(".service/init.scope"))
    }

    /// Whether the child of an adopter was started by it, or is otherwise known not to be an orphan that a server or an
    /// agent left behind. Decision 0016 has the table of cases.
    fn is_root(&self, child: &Process, adopter: &Process) -> bool {
        self.starters.contains(&child.identity())
            || !self.is_run_by_root() && self.table.is_of_root(child.pid)
            || self.leads_service(child)
            || self.is_in_session_of_init(child, adopter)
    }

    /// Where everything is root's, being root's says nothing.
    fn is_run_by_root(&self) -> bool {
        self.table.is_of_root(self.core)
    }

    /// Whether it is what a service manager started as the service: it leads its session, and nothing in the service is
    /// older. An orphan of a service is younger than the service, and one of a terminal is in no service.
    fn leads_service(&self, child: &Process) -> bool {
        let Some(group) = self.table.control_group(child.pid).filter(|group| group.ends_with(".service")) else {
            return false;
        };
        let members = self.table.members(&group);
        let is_eldest = members
            .iter()
            .filter_map(|pid| self.table.process(*pid))
            .all(|member| member.started > child.started || member.pid == child.pid);
        child.session == child.pid && members.contains(&child.pid) && is_eldest
    }

    /// Whether it never left the session of the first process, as what that one starts in a container does. It says
    /// nothing once an agent is in that session, too.
    fn is_in_session_of_init(&self, child: &Process, adopter: &Process) -> bool {
        let is_shared = self.agents.lock().iter().any(|agent| agent.session == adopter.session);
        // A group whose leader lives elsewhere was inherited from a process that is gone.
        let own_group = child.group == child.pid || child.group == adopter.group || child.group == 0;
        adopter.pid == INIT && child.session == adopter.session && own_group && !is_shared
    }

    /// The core's own ancestors, as far as they are known: what a person started it from. When a bridge did, those
    /// below the person's own shell are not among them, because an agent arranged these.
    fn starters_of(&self, core: u32) -> Vec<ProcessId> {
        let mut starters = Vec::new();
        let mut is_of_agent = false;
        let Some(mut at) = self.table.process(core) else { return starters };
        for _ in 0..GENERATIONS_MAX {
            let Some(parent) = self.table.process(at.parent) else { break };
            if parent.started > at.started || self.adopts_orphans(&parent) {
                break;
            }
            if self.is_bridge_or_keeper(parent.pid) {
                is_of_agent = true;
                starters.clear();
            } else if is_of_agent && self.ends_agent(&parent) {
                is_of_agent = false;
            }
            if !is_of_agent {
                starters.push(parent.identity());
            }
            at = parent;
        }
        starters
    }

    fn is_core_below_agent(&self) -> bool {
        if self.table.has_server_mark(self.core) {
            return true;
        }
        let mut next = self.table.process(self.core);
        for _ in 0..GENERATIONS_MAX {
            let Some(at) = next else { return false };
            let parent = self.table.process(at.parent).filter(|parent| parent.started <= at.started);
            if parent.as_ref().is_some_and(|parent| self.is_bridge_or_keeper(parent.pid)) {
                return true;
            }
            next = parent;
        }
        true
    }

    /// A bridge came: it is an agent's from now on. Where it is strict so is what started it, up to the shell that a
    /// person types into, or what adopts orphans. Names say nothing: every process chooses its own.
    pub(crate) fn remember(&self, bridge: ProcessId) {
        let mut found = Vec::new();
        let mut next = self.table.process(bridge.pid).filter(|process| process.identity() == bridge);
        for _ in 0..GENERATIONS_MAX {
            let Some(process) = next else { break };
            let is_bridge = process.identity() == bridge;
            if !is_bridge && (!self.is_strict || self.ends_agent(&process)) {
                break;
            }
            found.push(Agent { process: process.identity(), session: process.session });
            next = self.table.process(process.parent).filter(|parent| parent.started <= process.started);
        }
        let mut agents = self.agents.lock();
        agents.retain(|agent| !found.contains(agent));
        agents.extend(found);
        if agents.len() > self.agents_max {
            agents.retain(|agent| {
                self.table.process(agent.process.pid).is_some_and(|now| now.identity() == agent.process)
            });
        }
        while agents.len() > self.agents_max {
            agents.pop_front();
        }
    }

    /// Whether this ancestor of a bridge belongs to the person again.
    fn ends_agent(&self, process: &Process) -> bool {
        process.pid == self.core
            || self.adopts_orphans(process)
            || !self.is_run_by_root() && self.table.is_of_root(process.pid)
            || process.session == process.pid && self.table.is_interactive_shell(process.pid)
    }

    /// Whether the process is a bridge or a keeper of this program, by its command. Who claims it falsely only loses.
    fn is_bridge_or_keeper(&self, pid: u32) -> bool {
        let arguments = self.table.arguments(pid);
        let is_role = arguments.get(1).is_some_and(|word| matches!(word.as_slice(), b"connect" | b"keep"));
        is_role && arguments.first().is_some_and(|program| is_this_program(program))
    }
}

/// By file name: a program that was replaced while it ran is still ours.
fn is_this_program(program: &[u8]) -> bool {
    let Ok(own) = std::env::current_exe() else { return false };
    let named = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let own = own.file_name().unwrap_or_default().as_encoded_bytes();
    let own = own.strip_suffix(b" (deleted)").unwrap_or(own);
    named == own || named == b"taskwarden" || named == b"taskwarden-desktop"
}

#[cfg(test)]
mod tests;
