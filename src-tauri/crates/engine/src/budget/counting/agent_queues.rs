//! What waits to be counted: a queue for each agent with a share of the room, taken in turns.
//!
//! Bookkeeping under the lock of `queue.rs`. An agent that fills its share is counted roughly, and nobody else; what
//! another agent has waits behind at most one item of each agent. Decision 0094.

use std::collections::{HashMap, VecDeque};

use domain::ids::AgentId;
use domain::policy::{CountingPolicy, SharePolicy};

use crate::budget::counting::queue::CountingItem;

/// How much may wait: of everybody, and of one agent.
#[derive(Clone, Copy)]
pub(crate) struct QueueRoom {
    messages: usize,
    bytes: usize,
    agent_messages: usize,
    agent_bytes: usize,
}

impl QueueRoom {
    pub(crate) fn new(numbers: &CountingPolicy, shares: &SharePolicy) -> Self {
        let share = |most: usize| {
            let share = shares.of_one_agent(u64::try_from(most).unwrap_or(u64::MAX));
            usize::try_from(share).unwrap_or(most)
        };
        Self {
            messages: numbers.queue_messages,
            bytes: numbers.queue_bytes,
            agent_messages: share(numbers.queue_messages),
            agent_bytes: share(numbers.queue_bytes),
        }
    }

    /// Bytes of one agent that may wait.
    pub(crate) const fn agent_bytes(&self) -> usize {
        self.agent_bytes
    }

    /// Bytes of everybody that may wait.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What one agent has waiting.
#[derive(Default)]
struct AgentQueue {
    items: VecDeque<CountingItem>,
    /// Bytes of what waits and of what is in the batch in hand.
    bytes: usize,
    /// Its items in the batch in hand.
    in_hand: usize,
}

/// What all agents have waiting.
pub(crate) struct AgentQueues {
    room: QueueRoom,
    /// Agents with something that waits or is in hand.
    by_agent: HashMap<AgentId, AgentQueue>,
    /// Agents with something that waits, each once: the first is next.
    turns: VecDeque<AgentId>,
    messages: usize,
    /// Bytes of what waits and of the batch in hand.
    bytes: usize,
}

impl AgentQueues {
    pub(crate) fn new(room: QueueRoom) -> Self {
        Self { room, by_agent: HashMap::new(), turns: VecDeque::new(), messages: 0, bytes: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Messages that wait.
    pub(crate) const fn messages(&self) -> usize {
        self.messages
    }

    /// Agents with something that is not entered yet.
    pub(crate) fn agents(&self) -> Vec<AgentId> {
        self.by_agent.keys().copied().collect()
    }

    /// Bytes of each agent that are not entered yet.
    pub(crate) fn bytes_by_agent(&self) -> Vec<(AgentId, usize)> {
        self.by_agent.iter().map(|(agent, queue)| (*agent, queue.bytes)).collect()
    }

    /// Whether an item fits: by number, within `most` bytes of everybody and within its agent's share. An agent with
    /// nothing else waiting may have one item beyond its share.
    pub(crate) fn has_room_for(&self, item: &CountingItem, most: usize) -> bool {
        let (waits, bytes) = self.taken_by(item.agent());
        self.messages < self.room.messages
            && self.bytes.saturating_add(item.bytes()) <= most
            && waits < self.room.agent_messages
            && (bytes == 0 || bytes.saturating_add(item.bytes()) <= self.room.agent_bytes)
    }

    /// Adds an item. Returns whether the room of its agent or of everybody is half used up from now on.
    pub(crate) fn add(&mut self, item: CountingItem) -> bool {
        let (agent, size, room) = (item.agent(), item.bytes(), self.room);
        let (waits, bytes) = self.taken_by(agent);
        let passes_half =
            |before: usize, more: usize, most: usize| before <= most / 2 && before.saturating_add(more) > most / 2;
        let fills = passes_half(self.messages, 1, room.messages)
            || passes_half(self.bytes, size, room.bytes)
            || passes_half(waits, 1, room.agent_messages)
            || passes_half(bytes, size, room.agent_bytes);
        let queue = self.by_agent.entry(agent).or_default();
        if queue.items.is_empty() {
            self.turns.push_back(agent);
        }
        queue.items.push_back(item);
        queue.bytes = queue.bytes.saturating_add(size);
        self.messages = self.messages.saturating_add(1);
        self.bytes = self.bytes.saturating_add(size);
        fills
    }

    /// Messages of an agent that wait, and its bytes.
    fn taken_by(&self, agent: AgentId) -> (usize, usize) {
        self.by_agent.get(&agent).map_or((0, 0), |queue| (queue.items.len(), queue.bytes))
    }

    /// Takes the next item of the agent whose turn it is. Its bytes stay taken until [`AgentQueues::entered`].
    pub(crate) fn next(&mut self) -> Option<CountingItem> {
        let agent = self.turns.pop_front()?;
        let queue = self.by_agent.get_mut(&agent)?;
        let item = queue.items.pop_front()?;
        queue.in_hand += 1;
        if !queue.items.is_empty() {
            self.turns.push_back(agent);
        }
        self.messages = self.messages.saturating_sub(1);
        Some(item)
    }

    /// An item of the batch in hand was entered.
    pub(crate) fn entered(&mut self, item: &CountingItem) {
        let agent = item.agent();
        self.bytes = self.bytes.saturating_sub(item.bytes());
        let Some(queue) = self.by_agent.get_mut(&agent) else { return };
        queue.bytes = queue.bytes.saturating_sub(item.bytes());
        queue.in_hand = queue.in_hand.saturating_sub(1);
        if queue.in_hand == 0 && queue.items.is_empty() {
            self.by_agent.remove(&agent);
        }
    }
}
