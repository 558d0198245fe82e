//! Converts counts, sources, limits and windows of the domain to their JSON types.
//!
//! One to one and without a decision. Whole budgets are built in `calls/budgets/agent_budgets.rs`.

use domain::budget::models::{Model, SizeFrom};
use domain::budget::names::full_name;
use domain::budget::window::{TokenSource, Window};
use domain::rule::{LimitAction, TokenLimit};
use domain::task::OverLimit;
use domain::tokens::{Count, Exactness, Family, Intake, TaskTokens};

use crate::dto::budget::{
    AtLimitDto, ExactnessDto, FamilyDto, LimitDto, ModelDto, OverLimitDto, SizeFromDto, SourceDto, SourcePart,
    TokensDto, WindowDto,
};
use crate::dto::iso;

impl From<Exactness> for ExactnessDto {
    fn from(exactness: Exactness) -> Self {
        match exactness {
            Exactness::Exact => Self::Exact,
            Exactness::About => Self::About,
            Exactness::AtMost => Self::AtMost,
        }
    }
}

impl ExactnessDto {
    /// The mark before a figure, with its space.
    #[must_use]
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Exact => Exactness::Exact.mark(),
            Self::About => Exactness::About.mark(),
            Self::AtMost => Exactness::AtMost.mark(),
        }
    }
}

impl From<TokenSource> for SourceDto {
    fn from(source: TokenSource) -> Self {
        match source {
            TokenSource::Tools => Self::Tools,
            TokenSource::OwnTools => Self::OwnTools,
            TokenSource::Arguments => Self::Arguments,
            TokenSource::Results => Self::Results,
            TokenSource::Handles => Self::Handles,
            TokenSource::Prompts => Self::Prompts,
        }
    }
}

impl SourceDto {
    /// What people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tools => "tool definitions",
            Self::OwnTools => "the gateway's own tools",
            Self::Arguments => "arguments",
            Self::Results => "results",
            Self::Handles => "task notices",
            Self::Prompts => "prompts and resources",
        }
    }
}

impl From<SizeFrom> for SizeFromDto {
    fn from(from: SizeFrom) -> Self {
        match from {
            SizeFrom::Set => Self::Set,
            SizeFrom::Model => Self::Model,
            SizeFrom::Client => Self::Client,
        }
    }
}

impl From<LimitAction> for AtLimitDto {
    fn from(at: LimitAction) -> Self {
        match at {
            LimitAction::Warn => Self::Warn,
            LimitAction::Ask => Self::Ask,
            LimitAction::Hold => Self::Hold,
            LimitAction::Stop => Self::Stop,
        }
    }
}

impl From<AtLimitDto> for LimitAction {
    fn from(at: AtLimitDto) -> Self {
        match at {
            AtLimitDto::Warn => Self::Warn,
            AtLimitDto::Ask => Self::Ask,
            AtLimitDto::Hold => Self::Hold,
            AtLimitDto::Stop => Self::Stop,
        }
    }
}

impl From<TokenLimit> for LimitDto {
    fn from(limit: TokenLimit) -> Self {
        Self { tokens: limit.tokens, at: limit.at.into() }
    }
}

impl From<&OverLimit> for OverLimitDto {
    fn from(over: &OverLimit) -> Self {
        Self {
            tokens: over.tokens,
            limit: over.limit.into(),
            at: iso(over.at),
            settled_by: over.settled.as_ref().map(|(by, _)| by.to_string()),
        }
    }
}

impl From<TaskTokens> for TokensDto {
    fn from(tokens: TaskTokens) -> Self {
        Self {
            handle: tokens.handle,
            kept_out: tokens.kept_out(),
            result: tokens.result,
            in_window: tokens.in_window.map(|count| count.tokens),
            in_window_exactness: tokens.in_window.map_or(tokens.exactness, |count| count.exactness).into(),
            delivered: tokens.delivered,
            arguments: tokens.arguments,
            family: tokens.family.into(),
            exactness: tokens.exactness.into(),
        }
    }
}

impl FamilyDto {
    pub(crate) fn of(family: Family, error_percent: u8) -> Self {
        Self { id: family.into(), label: family.label().into(), exactness: family.exactness().into(), error_percent }
    }
}

impl From<&Model> for ModelDto {
    fn from(model: &Model) -> Self {
        Self {
            name: model.name.into(),
            label: full_name(model.name),
            family: model.family.into(),
            window_tokens: model.window,
            source: model.source.into(),
        }
    }
}

/// All sources, in order, each with its figures.
pub(crate) fn sources(count: impl Fn(TokenSource) -> Intake) -> Vec<SourcePart> {
    let part = |source| {
        let Intake { passed, window: Count { tokens, exactness } } = count(source);
        SourcePart { source: SourceDto::from(source), tokens, exactness: exactness.into(), passed: passed.tokens }
    };
    TokenSource::ALL.into_iter().map(part).collect()
}

impl WindowDto {
    /// A window of this size, where that is known.
    pub(crate) fn of(window: &Window, size: Option<u64>) -> Self {
        let (occupancy, passed) = (window.occupancy(), window.passed_in_all());
        Self {
            id: window.id.to_string(),
            began_at: iso(window.began),
            last_at: iso(window.last),
            ended_at: window.ended.map(iso),
            tokens: occupancy.tokens,
            exactness: occupancy.exactness.into(),
            passed: passed.tokens,
            passed_exactness: passed.exactness.into(),
            full_times: size.map_or(0, |size| window.full_times(size)),
            sources: sources(|source| Intake { passed: window.passed_of(source), window: window.of(source) }),
            kept_out: window.kept_out.tokens,
            kept_out_exactness: window.kept_out.exactness.into(),
        }
    }
}
