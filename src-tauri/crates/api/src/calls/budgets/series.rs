//! Tokens that entered windows and tokens that were wasted, over hours and days.
//!
//! Sums the hourly rows that the engine stored, after flushing what is still being counted. Points start at whole steps
//! since 1970 in UTC, so that a past point never changes. Current windows are `agent_budgets.rs`.

use std::collections::{BTreeMap, BTreeSet};

use domain::budget::waste::Waste;
use domain::budget::window::{TokenFlow, TokenSource};
use domain::ids::{AgentId, ServerId};
use domain::ports::SeriesQuery;
use domain::time::Timestamp;
use domain::tokens::{Count, Exactness, Intake};

use crate::api::Api;
use crate::caller::Caller;
use crate::dto::{SeriesDto, SeriesPoint, ShowSeries, ShowWaste, SourcePart, WasteDto, WasteList, iso, sources};
use crate::error::{ApiError, Code};
use crate::lookup::Names;

/// How long the rows of the registry are. The shape of the stored series (`domain::ports::SpendRow`).
const HOUR_MS: u64 = 3_600_000;
/// The same, as moments are counted.
pub(super) const HOUR: i64 = 3_600_000;

/// The hour in which a moment lies, by its beginning.
pub(super) fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().saturating_sub(at.as_millis().rem_euclid(HOUR)))
}

/// The steps from the one in which this span of time began to the one that runs. Stored sums cannot be divided, so that
/// the first is there whole: the time asked for is always covered, and up to a step more.
fn since(now: Timestamp, span_ms: u64, step: i64) -> SeriesQuery {
    let now = now.as_millis();
    let begin = |at: i64| at.saturating_sub(at.rem_euclid(step));
    let from = now.saturating_sub(i64::try_from(span_ms).unwrap_or(i64::MAX));
    SeriesQuery {
        agent: None,
        from: Timestamp::from_millis(begin(from)),
        to: Timestamp::from_millis(begin(now).saturating_add(step)),
    }
}

/// What flowed in one point.
#[derive(Default)]
struct Point {
    sums: BTreeMap<TokenSource, Intake>,
    kept_out: Count,
    messages: u64,
}

/// Waste of one server.
#[derive(Default)]
struct Wasted {
    counts: BTreeMap<Waste, (u64, Count)>,
}

impl Api {
    /// What flowed into windows, by hours or longer: from the point in which the time asked for began to the one that runs.
    ///
    /// # Errors
    /// When there is no such agent, the points are too many or no whole hours, or the registry cannot be read.
    pub async fn budget_series(&self, _caller: &Caller, input: ShowSeries) -> Result<SeriesDto, ApiError> {
        let ShowSeries { agent, span_ms, step_ms } = input;
        let points_max = u64::try_from(self.policy.counting.points_max).unwrap_or(u64::MAX);
        if step_ms == 0 || step_ms % HOUR_MS != 0 {
            return Err(ApiError::new(
                Code::Usage,
                "a step must be a whole number of hours",
                "Figures are stored per hour: choose one hour or a multiple of it.",
            ));
        }
        let many = span_ms.div_ceil(step_ms).max(1);
        if many > points_max {
            return Err(ApiError::new(
                Code::Usage,
                format!("a series of {many} points is too long"),
                format!("At most {points_max} points are given at once: choose a longer step or a shorter time."),
            ));
        }
        let agent = match &agent {
            Some(name) => Some(self.find_agent(name).await?.id),
            None => None,
        };
        self.flush_budget().await;
        let step = i64::try_from(step_ms).unwrap_or(i64::MAX);
        let SeriesQuery { from, to, .. } = since(self.now(), span_ms, step);
        let mut points: BTreeMap<i64, Point> = BTreeMap::new();
        let mut at = from.as_millis();
        while at < to.as_millis() {
            points.insert(at, Point::default());
            at = at.saturating_add(step);
        }
        let query = SeriesQuery { agent, from, to };
        let mut families = BTreeSet::new();
        let mut exactness = Exactness::Exact;
        for row in self.registry.spend(query).await? {
            let hour = row.hour.as_millis();
            let Some(point) = points.get_mut(&(hour - hour.rem_euclid(step))) else { continue };
            let count = Count { tokens: row.tokens, exactness: row.exactness };
            match row.flow {
                TokenFlow::In(source) => {
                    let sum = point.sums.entry(source).or_default();
                    let passed = Count { tokens: row.passed, exactness: row.passed_exactness };
                    *sum = *sum + Intake { passed, window: count };
                    point.messages = point.messages.saturating_add(row.messages);
                }
                TokenFlow::KeptOut => point.kept_out = point.kept_out + count,
            }
            exactness = exactness.max(row.exactness);
            families.insert(row.family);
        }
        Ok(SeriesDto {
            points: points.into_iter().map(|(at, point)| point.shown(Timestamp::from_millis(at))).collect(),
            step_ms,
            exactness: exactness.into(),
            families: families.into_iter().map(|family| family.word().to_owned()).collect(),
        })
    }

    /// What servers cost that brought nothing.
    ///
    /// # Errors
    /// When there is no such agent, or the registry cannot be read.
    pub async fn budget_waste(&self, _caller: &Caller, input: ShowWaste) -> Result<WasteList, ApiError> {
        let agent = match &input.agent {
            Some(name) => Some(self.find_agent(name).await?.id),
            None => None,
        };
        self.flush_budget().await;
        let query = SeriesQuery { agent, ..since(self.now(), input.span_ms, HOUR) };
        Ok(WasteList { servers: self.wasted(query, &mut Names::default()).await? })
    }

    /// The hours of the last day.
    pub(crate) fn today(&self, agent: Option<AgentId>) -> SeriesQuery {
        let day = u64::try_from(self.policy.counting.day.as_millis()).unwrap_or(u64::MAX);
        SeriesQuery { agent, ..since(self.now(), day, HOUR) }
    }

    /// What was spent in these hours, by source, and what was kept out.
    pub(crate) async fn spent(&self, query: SeriesQuery) -> Result<(Vec<SourcePart>, Count), ApiError> {
        let mut point = Point::default();
        for row in self.registry.spend(query).await? {
            let count = Count { tokens: row.tokens, exactness: row.exactness };
            match row.flow {
                TokenFlow::In(source) => {
                    let sum = point.sums.entry(source).or_default();
                    let passed = Count { tokens: row.passed, exactness: row.passed_exactness };
                    *sum = *sum + Intake { passed, window: count };
                }
                TokenFlow::KeptOut => point.kept_out = point.kept_out + count,
            }
        }
        Ok((point.sources(), point.kept_out))
    }

    /// Waste in these hours by server, the worst first.
    pub(crate) async fn wasted(&self, query: SeriesQuery, names: &mut Names) -> Result<Vec<WasteDto>, ApiError> {
        let mut servers: BTreeMap<ServerId, Wasted> = BTreeMap::new();
        for row in self.registry.waste(query).await? {
            let (count, tokens) = servers.entry(row.server).or_default().counts.entry(row.waste).or_default();
            *count = count.saturating_add(row.count);
            *tokens = *tokens + Count { tokens: row.tokens, exactness: row.exactness };
        }
        let mut shown = Vec::new();
        for (id, wasted) in servers {
            if wasted.is_any() {
                shown.push(wasted.shown(id, self.server_name(id, names).await?));
            }
        }
        shown.sort_by(|one, other| {
            let (worse, names) = ((other.tokens, other.empty), (&one.server, &one.server_id));
            (worse, names).cmp(&((one.tokens, one.empty), (&other.server, &other.server_id)))
        });
        Ok(shown)
    }
}

impl Point {
    fn sources(&self) -> Vec<SourcePart> {
        sources(|source| self.sums.get(&source).copied().unwrap_or_default())
    }

    fn shown(self, at: Timestamp) -> SeriesPoint {
        SeriesPoint { at: iso(at), sources: self.sources(), kept_out: self.kept_out.tokens, messages: self.messages }
    }
}

impl Wasted {
    fn count(&self, waste: Waste) -> u64 {
        self.counts.get(&waste).map_or(0, |(count, _)| *count)
    }

    fn tokens(&self, waste: Waste) -> Count {
        self.counts.get(&waste).map_or(Count::ZERO, |(_, tokens)| *tokens)
    }

    /// Looks alone are no waste.
    fn is_any(&self) -> bool {
        Waste::ALL.into_iter().any(|waste| waste != Waste::Look && self.count(waste) > 0)
    }

    fn shown(&self, id: ServerId, server: String) -> WasteDto {
        // A look that was hasty and brought nothing is in both sums, and cost its tokens once.
        let (empty, hasty) = (self.tokens(Waste::EmptyPoll), self.tokens(Waste::HastyPoll));
        let looks = if empty.tokens >= hasty.tokens { empty } else { hasty };
        let others = [Waste::StalledQuestion, Waste::LostTask, Waste::UnreadResult, Waste::DisobeyedCancel];
        let tokens = looks + others.into_iter().map(|waste| self.tokens(waste)).sum();
        let worst = Waste::ALL
            .into_iter()
            .filter(|waste| *waste != Waste::Look && self.count(*waste) > 0)
            .max_by_key(|waste| (self.tokens(*waste).tokens, self.count(*waste)));
        WasteDto {
            server_id: id.to_string(),
            server,
            looks: self.count(Waste::Look),
            empty: self.count(Waste::EmptyPoll),
            hasty: self.count(Waste::HastyPoll),
            stalled: self.count(Waste::StalledQuestion),
            lost: self.count(Waste::LostTask),
            unread: self.count(Waste::UnreadResult),
            disobeyed: self.count(Waste::DisobeyedCancel),
            tokens: tokens.tokens,
            exactness: tokens.exactness.into(),
            advice: worst.and_then(Waste::advice).map(str::to_owned),
        }
    }
}
