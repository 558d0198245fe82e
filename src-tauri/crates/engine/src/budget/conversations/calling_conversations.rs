//! The conversations of calls that became tasks, until their results arrive.
//!
//! A result enters the conversation that called. Where that is forgotten, the fullest window of the agent counts, so the
//! agent with the most loses its oldest, and no agent makes another's be forgotten (decision 0094).

use std::collections::{BTreeMap, HashMap};

use domain::ids::{AgentId, HandleId};

use crate::budget::conversations::conversation::Conversation;

/// Calls whose conversation is remembered. Judgement: more than agents have open at a time.
const CONVERSATIONS_MAX: usize = 16_384;

pub(crate) struct CallingConversations {
    by_task: HashMap<HandleId, (u64, Conversation)>,
    /// The tasks of each agent, the oldest first.
    by_agent: HashMap<AgentId, BTreeMap<u64, HandleId>>,
    next: u64,
    most: usize,
}

impl Default for CallingConversations {
    fn default() -> Self {
        Self::with_room_for(CONVERSATIONS_MAX)
    }
}

impl CallingConversations {
    fn with_room_for(most: usize) -> Self {
        Self { by_task: HashMap::new(), by_agent: HashMap::new(), next: 0, most }
    }

    pub(crate) fn get(&self, id: HandleId) -> Option<&Conversation> {
        self.by_task.get(&id).map(|(_, conversation)| conversation)
    }

    pub(crate) fn insert(&mut self, id: HandleId, conversation: Conversation) {
        self.remove(id);
        if self.by_task.len() >= self.most {
            self.forget_one();
        }
        let (agent, number) = (conversation.agent, self.next);
        self.next = number.saturating_add(1);
        self.by_agent.entry(agent).or_default().insert(number, id);
        self.by_task.insert(id, (number, conversation));
    }

    pub(crate) fn remove(&mut self, id: HandleId) {
        let Some((number, conversation)) = self.by_task.remove(&id) else { return };
        let is_last = self.by_agent.get_mut(&conversation.agent).is_some_and(|tasks| {
            tasks.remove(&number);
            tasks.is_empty()
        });
        if is_last {
            self.by_agent.remove(&conversation.agent);
        }
    }

    /// Forgets the oldest of the agent with the most.
    fn forget_one(&mut self) {
        let most = self.by_agent.values().max_by_key(|tasks| tasks.len());
        if let Some(oldest) = most.and_then(|tasks| tasks.first_key_value()).map(|(_, id)| *id) {
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u128) -> HandleId {
        HandleId::from_random(number)
    }

    fn of(agent: u128) -> Conversation {
        Conversation::new(AgentId::from_random(agent), None, Some("s1"))
    }

    #[test]
    fn an_agent_with_many_open_tasks_makes_no_other_agents_conversation_be_forgotten() {
        let mut conversations = CallingConversations::with_room_for(4);
        conversations.insert(task(100), of(2));
        for number in 1..=10 {
            conversations.insert(task(number), of(1));
        }
        assert!(conversations.get(task(100)).is_some(), "the other's is there, though it is the oldest");
        let left: Vec<u128> = (1..=10).filter(|number| conversations.get(task(*number)).is_some()).collect();
        assert_eq!(left, [8, 9, 10], "of its own the newest are left");
    }

    #[test]
    fn a_result_that_came_gives_its_room_back() {
        let mut conversations = CallingConversations::with_room_for(2);
        for number in 1..=100 {
            conversations.insert(task(number), of(1));
            conversations.insert(task(number), of(1));
            conversations.remove(task(number));
        }
        assert!(conversations.by_task.is_empty() && conversations.by_agent.is_empty(), "nothing stays behind");
    }
}
