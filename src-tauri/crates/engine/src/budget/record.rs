//! Enters counts into windows and series, into the costs of tasks, and into pending results and waste.
//!
//! One item at a time, without waiting. What could not be counted comes the same way, as an upper bound.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::budget::models::CountingMethod;
use domain::budget::waste::Waste;
use domain::budget::window::TokenSource;
use domain::ids::AgentId;
use domain::time::Timestamp;
use domain::tokens::{Count, Family, Intake};

use super::Budget;
use crate::budget::conversations::conversation::Conversation;
use crate::budget::conversations::tool_paging::ToolPage;
use crate::budget::counting::count;
use crate::budget::counting::count::ItemCount;
use crate::budget::counting::queue::{CountingItem, TaskText};
use crate::budget::counting::traffic::{AgentTraffic, Passed};
use crate::budget::counting::visible::Counted;
use crate::budget::pending_results::{ReadEvent, ReadExtent};
use crate::budget::status_messages::UnreadStatus;
use crate::budget::task_costs::CostPart;

impl Budget {
    /// Counts a batch and enters it.
    pub(crate) async fn take_in(&self, batch: &Arc<Vec<CountingItem>>) {
        let measures = Arc::new(self.measures(batch));
        let counts = count::count_batch(&self.scale, batch, Arc::clone(&measures)).await;
        let now = self.now();
        for ((item, counts), measure) in batch.iter().zip(counts).zip(measures.iter()) {
            self.enter(item, counts, measure, now);
        }
        self.queue.finish_batch(batch);
    }

    /// How each item of a batch is measured. Looked up once for each agent: a batch is mostly of a few.
    fn measures(&self, batch: &[CountingItem]) -> Vec<CountingMethod> {
        let mut known: BTreeMap<AgentId, CountingMethod> = BTreeMap::new();
        let of = |item: &CountingItem| *known.entry(item.agent()).or_insert_with(|| self.measure(item.agent()));
        batch.iter().map(of).collect()
    }

    /// Enters a batch without counting it.
    pub(crate) fn take_at_most(&self, batch: &[CountingItem]) {
        for item in batch {
            self.enter(item, count::at_most(item), &self.measure(item.agent()), self.now());
        }
        self.queue.finish_batch(batch);
    }

    /// Queues something to be counted; what does not fit is entered at once, as an upper bound.
    pub(crate) fn count_later(&self, item: CountingItem) {
        if let Some(item) = self.queue.push(item) {
            self.enter(&item, count::at_most(&item), &self.measure(item.agent()), self.now());
        }
    }

    fn enter(&self, item: &CountingItem, counts: ItemCount, measure: &CountingMethod, now: Timestamp) {
        self.enter_count(item, counts, measure, now);
        self.queue.entered(item);
    }

    fn enter_count(&self, item: &CountingItem, counts: ItemCount, measure: &CountingMethod, now: Timestamp) {
        let family = measure.family;
        match (item, counts) {
            (CountingItem::Traffic(seen), ItemCount::Tools(tools, own)) => {
                let Passed::Tools { is_first, is_last, .. } = seen.what else { return };
                let page = ToolPage { tools, own, is_first, is_last };
                self.windows.lock().enter_tools(&place(seen), seen.server, page, measure, now);
            }
            (CountingItem::Traffic(seen), ItemCount::Sum(counted)) => self.enter_traffic(seen, counted, family, now),
            (CountingItem::Arguments(matter), ItemCount::Sum(counted)) => {
                self.task_costs.add(matter.handle, family, CostPart::Arguments, counted.intake.passed);
            }
            (CountingItem::Result(matter, facts), ItemCount::Sum(counted)) => {
                self.task_costs.add(matter.handle, family, CostPart::result(counted), counted.intake.passed);
                self.expects(matter, facts.clone(), counted);
            }
            (CountingItem::Error(matter), ItemCount::Sum(counted)) => {
                self.task_costs.add(matter.handle, family, CostPart::result(counted), counted.intake.passed);
            }
            (CountingItem::KeptOut(matter), ItemCount::Sum(counted)) => {
                self.stays_out(unread_status(matter, counted.intake.passed, family), now);
            }
            (CountingItem::Status(matter), ItemCount::Sum(counted)) => {
                // It is in no figure yet, but it was said: the task is checked against its limit.
                self.task_costs.add(matter.handle, family, CostPart::Interim, Count::ZERO);
                let word = unread_status(matter, counted.intake.passed, family);
                for gone in self.status_messages.replace(word, matter.text.as_str()) {
                    self.stays_out(gone, now);
                }
            }
            (CountingItem::Marker(_, told), _) => {
                if let Some(told) = told.lock().take() {
                    // Whoever waited may have stopped waiting.
                    let _ = told.send(());
                }
            }
            // Only lists of tools are counted by tool.
            (
                CountingItem::Arguments(_)
                | CountingItem::Result(..)
                | CountingItem::Error(_)
                | CountingItem::KeptOut(_)
                | CountingItem::Status(_),
                ItemCount::Tools(..),
            ) => {}
        }
    }

    fn enter_traffic(&self, seen: &AgentTraffic, counted: Counted, family: Family, now: Timestamp) {
        let Intake { passed, window: stands } = counted.intake;
        let (source, figure, read) = match &seen.what {
            // A list is counted by tool; a task's call is counted at its birth.
            Passed::Tools { .. } => (TokenSource::Tools, None, None),
            Passed::Call(_) => (TokenSource::Arguments, None, None),
            Passed::Result(_) => {
                (TokenSource::Results, Some(CostPart::Delivered(stands.tokens)), Some(ReadExtent::Whole))
            }
            Passed::Slice(_) => {
                (TokenSource::Results, Some(CostPart::Delivered(stands.tokens)), Some(ReadExtent::Part))
            }
            Passed::Error(_) => (TokenSource::Results, Some(CostPart::Delivered(stands.tokens)), None),
            Passed::Handle(_) | Passed::Look { .. } => {
                (TokenSource::Handles, Some(CostPart::Handle), Some(ReadExtent::Handle))
            }
            Passed::Prompt(_) | Passed::Resource(_) => (TokenSource::Prompts, None, None),
        };
        let mut windows = self.windows.lock();
        let window = windows.enter(&place(seen), seen.server, source, counted, family, now);
        if let (Some(handle), Some(window), Some(read)) = (seen.handle, window, read) {
            let event = ReadEvent {
                handle,
                server: seen.server,
                extent: read,
                intake: counted.intake,
                window,
                short_tokens: self.numbers().short_tokens,
            };
            windows.pending(seen.agent, family, now, |pending| pending.read(event));
        }
        if let (Passed::Look { empty, hasty, .. }, Some(server)) = (&seen.what, seen.server) {
            let mut waste = |waste, cost| windows.wasted(Some(seen.agent), server, waste, cost, now);
            waste(Waste::Look, Count::ZERO);
            if *empty {
                // What it cost is counted with this alone, so that the sum over all kinds is what was wasted.
                waste(Waste::EmptyPoll, stands);
            }
            if *hasty {
                waste(Waste::HastyPoll, Count::ZERO);
            }
        }
        drop(windows);
        if let (Some(handle), Some(figure)) = (seen.handle, figure) {
            self.task_costs.add(handle, family, figure, passed);
        }
        match (seen.handle, &seen.what) {
            (Some(handle), Passed::Handle(said) | Passed::Look { said, .. }) => {
                self.status_messages.shown(handle, said.as_str())
            }
            (Some(handle), Passed::Result(_) | Passed::Error(_)) => {
                if let Some(gone) = self.status_messages.over(handle) {
                    self.stays_out(gone, now);
                }
            }
            (Some(_) | None, _) => {}
        }
    }

    /// What a task said in between will not enter any more.
    fn stays_out(&self, said: UnreadStatus, now: Timestamp) {
        let UnreadStatus { agent, server, handle, family, count } = said;
        self.task_costs.add(handle, family, CostPart::Interim, count);
        self.windows.lock().kept_out(agent, server, count, family, now);
    }
}

fn unread_status(matter: &TaskText, count: Count, family: Family) -> UnreadStatus {
    UnreadStatus { agent: matter.agent, server: matter.server, handle: matter.handle, family, count }
}

fn place(seen: &AgentTraffic) -> Conversation {
    Conversation::new(seen.agent, seen.door, seen.session.as_deref())
}
