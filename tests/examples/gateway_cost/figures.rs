//! The figures that have an aim: one line each, printed together at the end.
//!
//! Issue 14 set them. *Must* comes first, what is reached for after it. A figure that was not measured has no line; one
//! that this machine cannot measure says why.

use tests::bench::Row;

use crate::rounds::Rounds;

/// The places of the figures in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    AddedAlone,
    AddedTogether,
    Rate,
    Cpu,
    Counts,
    Tail,
    Large,
    Task,
    Stdio,
    Handle,
    Idle,
}

/// What was gathered so far.
#[derive(Default)]
pub(crate) struct Figures(Vec<(Place, Row)>);

impl Figures {
    pub(crate) fn add(&mut self, place: Place, row: Row) {
        self.0.push((place, row));
    }

    /// Prints all in their order.
    pub(crate) fn print(mut self) {
        self.0.sort_by_key(|(place, _)| *place);
        for (_, row) in self.0 {
            row.print();
        }
    }
}

/// What nearly every comparison has: the route in words, and the rounds of each side.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) route: &'a str,
    pub(crate) direct: &'a Rounds,
    /// What a proxy is measured against, with its name.
    pub(crate) reference: Option<(&'a str, &'a Rounds)>,
    pub(crate) ours: &'a Rounds,
    /// What `ours` is.
    pub(crate) name: &'static str,
}

/// So many callers, in words.
pub(crate) fn callers_text(callers: usize) -> String {
    if callers == 1 { "1 caller".to_owned() } else { format!("{callers} callers") }
}

impl Compared<'_> {
    fn label(&self, what: &str) -> String {
        match self.reference {
            Some((reference, _)) => format!("{}: {what}; {reference}, {}", self.route, self.name),
            None => format!("{}: {what}", self.route),
        }
    }

    fn row(&self, what: &str, unit: &'static str, of: impl Fn(&Rounds) -> f64) -> Row {
        Row {
            metric: self.label(what),
            reference: self.reference.map(|(_, rounds)| of(rounds)),
            ours: Some(of(self.ours)),
            unit,
            ..Row::default()
        }
    }

    /// Added time at the median; beside it from the best rounds, and what the call takes without a proxy.
    pub(crate) fn added(&self, aim: &str) -> Row {
        let direct = self.direct.middle(|round| round.median);
        let best = |rounds: &Rounds| rounds.least(|round| round.median) - self.direct.least(|round| round.median);
        let row = self.row("added at the median", "µs", |rounds| rounds.middle(|round| round.median) - direct);
        // On a busy machine a proxy may seem to add nothing; then there is no ratio.
        let best = match self.reference {
            Some((_, reference)) => Some(best(reference)).filter(|of| *of > 0.0).map(|of| best(self.ours) / of),
            None => Some(best(self.ours)),
        };
        Row { best, aim: aim.to_owned(), note: format!("{direct:.0} µs without a proxy"), ..row }
    }

    /// The slow calls: added time below which 99 of 100 lie.
    pub(crate) fn added_p99(&self) -> Row {
        let direct = self.direct.middle(|round| round.p99);
        self.row("added at p99", "µs", |rounds| rounds.middle(|round| round.p99) - direct)
    }

    pub(crate) fn rate(&self, aim: &str) -> Row {
        let row = self.row("calls/s", "/s", Rounds::rate);
        let best = match self.reference {
            Some((_, reference)) => self.ours.best_rate() / reference.best_rate(),
            None => self.ours.best_rate(),
        };
        Row { best: Some(best), aim: aim.to_owned(), ..row }
    }

    pub(crate) fn cpu(&self, aim: &str) -> Row {
        Row { aim: aim.to_owned(), ..self.row("CPU per call", "µs", Rounds::cpu_each) }
    }

    /// How far the slow calls are from the usual ones.
    pub(crate) fn tail(&self, aim: &str) -> Row {
        let row = self.row("p99 over p50", "×", |rounds| rounds.middle(|round| round.p99 / round.median));
        Row { aim: aim.to_owned(), ..row }
    }
}
