//! Entering what was counted: into windows and series, into the figures of tasks, and into what is expected or wasted.
//!
//! One item at a time, without waiting. What passed that nobody had room to count comes the same way, as an upper bound.

use std::sync::Arc;

use domain::budget::models::{self, CountingMethod};
use domain::time::Timestamp;
use domain::tokens::{Count, Family, Intake};
use domain::budget::waste::Waste;
use domain::budget::window::{CountingSettings, TokenSource};

use super::coming::Read;
use super::count::Weighed;
use super::figures::Figure;
use super::lines::Unseen;
use super::place::Place;
use super::seen::{Passed, Seen};
use super::shelf::Page;
use super::shown::Counted;
use super::tap::{Item, Matter};
use super::{Budget, count};

impl Budget {
    /// Counts a batch and enters it.
    pub(super) async fn take_in(&self, batch: &Arc<Vec<Item>>) {
        let measures: Arc<Vec<CountingMethod>> = Arc::new(batch.iter().map(|item| self.measure_of(item)).collect());
        let weighed = count::weigh_all(&self.scale, batch, Arc::clone(&measures)).await;
        let now = self.now();
        for ((item, weighed), measure) in batch.iter().zip(weighed).zip(measures.iter()) {
            self.enter(item, weighed, measure, now);
        }
        self.tap.is_booked(batch);
    }

    /// Enters a batch without counting it.
    pub(super) fn take_at_most(&self, batch: &[Item]) {
        for item in batch {
            self.enter(item, count::at_most(item), &self.measure_of(item), self.now());
        }
        self.tap.is_booked(batch);
    }

    /// Leaves something to be counted; what does not fit is entered at once, as an upper bound.
    pub(super) fn leave(&self, item: Item) {
        self.limits.waits(&item);
        if let Some(item) = self.tap.leave(item) {
            self.enter(&item, count::at_most(&item), &self.measure_of(&item), self.now());
        }
    }

    fn measure_of(&self, item: &Item) -> CountingMethod {
        let agent = match item {
            Item::Saw(seen) => seen.agent,
            Item::Arguments(matter)
            | Item::Outcome(matter, _)
            | Item::Failure(matter)
            | Item::Aside(matter)
            | Item::Word(matter) => matter.agent,
            Item::Mark(_) => return models::counting_method(&CountingSettings::default(), None),
        };
        self.measure(agent)
    }

    fn enter(&self, item: &Item, weighed: Weighed, measure: &CountingMethod, now: Timestamp) {
        self.book(item, weighed, measure, now);
        self.limits.is_booked(item);
    }

    fn book(&self, item: &Item, weighed: Weighed, measure: &CountingMethod, now: Timestamp) {
        let family = measure.family;
        match (item, weighed) {
            (Item::Saw(seen), Weighed::Tools(tools, own)) => {
                let Passed::Tools { is_first, is_last, .. } = seen.what else { return };
                let page = Page { tools, own, is_first, is_last };
                self.books.lock().has_tools(&place(seen), seen.server, page, measure, now);
            }
            (Item::Saw(seen), Weighed::Sum(counted)) => self.enter_seen(seen, counted, family, now),
            (Item::Arguments(matter), Weighed::Sum(counted)) => {
                self.figures.add(matter.handle, family, Figure::Arguments, counted.intake.passed);
            }
            (Item::Outcome(matter, facts), Weighed::Sum(counted)) => {
                self.figures.add(matter.handle, family, Figure::result(counted), counted.intake.passed);
                self.expects(matter, facts.clone(), counted);
            }
            (Item::Failure(matter), Weighed::Sum(counted)) => {
                self.figures.add(matter.handle, family, Figure::result(counted), counted.intake.passed);
            }
            (Item::Aside(matter), Weighed::Sum(counted)) => {
                self.stays_out(unseen(matter, counted.intake.passed, family), now);
            }
            (Item::Word(matter), Weighed::Sum(counted)) => {
                // It is in no figure yet, but it was said: the task is looked at for its limit.
                self.figures.add(matter.handle, family, Figure::Interim, Count::ZERO);
                let word = unseen(matter, counted.intake.passed, family);
                for gone in self.lines.turns(word, matter.text.as_str()) {
                    self.stays_out(gone, now);
                }
            }
            (Item::Mark(told), _) => {
                if let Some(told) = told.lock().take() {
                    // Whoever waited may have stopped waiting.
                    let _ = told.send(());
                }
            }
            // Lists of tools alone are weighed by tool.
            (
                Item::Arguments(_) | Item::Outcome(..) | Item::Failure(_) | Item::Aside(_) | Item::Word(_),
                Weighed::Tools(..),
            ) => {}
        }
    }

    fn enter_seen(&self, seen: &Seen, counted: Counted, family: Family, now: Timestamp) {
        let Intake { passed, window: stands } = counted.intake;
        let (source, figure, read) = match &seen.what {
            // A list is weighed by tool; what a task's call weighs is counted at its birth.
            Passed::Tools { .. } => (TokenSource::Tools, None, None),
            Passed::Call(_) => (TokenSource::Arguments, None, None),
            Passed::Result(_) => (TokenSource::Results, Some(Figure::Delivered(stands.tokens)), Some(Read::Whole)),
            Passed::Slice(_) => (TokenSource::Results, Some(Figure::Delivered(stands.tokens)), Some(Read::Part)),
            Passed::Error(_) => (TokenSource::Results, Some(Figure::Delivered(stands.tokens)), None),
            Passed::Handle(_) | Passed::Look { .. } => (TokenSource::Handles, Some(Figure::Handle), Some(Read::Handle)),
            Passed::Prompt(_) | Passed::Resource(_) => (TokenSource::Prompts, None, None),
        };
        let mut books = self.books.lock();
        let window = books.came_in(&place(seen), seen.server, source, counted, family, now);
        if let (Some(handle), Some(window), Some(read)) = (seen.handle, window, read) {
            let about = (handle, seen.server);
            let short = self.numbers().short_tokens;
            books
                .pending(seen.agent, family, now, |pending| pending.read(about, read, counted.intake, (window, short)));
        }
        if let (Passed::Look { empty, hasty, .. }, Some(server)) = (&seen.what, seen.server) {
            let mut waste = |waste, cost| books.wasted(Some(seen.agent), server, waste, cost, now);
            waste(Waste::Look, Count::ZERO);
            if *empty {
                // What it cost is counted with this alone, so that the sum over all kinds is what was wasted.
                waste(Waste::EmptyPoll, stands);
            }
            if *hasty {
                waste(Waste::HastyPoll, Count::ZERO);
            }
        }
        drop(books);
        if let (Some(handle), Some(figure)) = (seen.handle, figure) {
            self.figures.add(handle, family, figure, passed);
        }
        match (seen.handle, &seen.what) {
            (Some(handle), Passed::Handle(said) | Passed::Look { said, .. }) => self.lines.shown(handle, said.as_str()),
            (Some(handle), Passed::Result(_) | Passed::Error(_)) => {
                if let Some(gone) = self.lines.over(handle) {
                    self.stays_out(gone, now);
                }
            }
            (Some(_) | None, _) => {}
        }
    }

    /// What a task said on the way does not come in any more.
    fn stays_out(&self, said: Unseen, now: Timestamp) {
        let Unseen { agent, server, handle, family, count } = said;
        self.figures.add(handle, family, Figure::Interim, count);
        self.books.lock().kept_out(agent, server, count, family, now);
    }
}

fn unseen(matter: &Matter, count: Count, family: Family) -> Unseen {
    Unseen { agent: matter.agent, server: matter.server, handle: matter.handle, family, count }
}

fn place(seen: &Seen) -> Place {
    Place::new(seen.agent, seen.door, seen.session.as_deref())
}
