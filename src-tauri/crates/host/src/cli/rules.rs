//! `taskwarden rules`: who is asked, what a repeated call means, whether results are held, when a call becomes a task,
//! and limits of tokens and of time.
//!
//! Setting one field leaves the other fields of the rule as they are. Which rule wins is not decided here.

use api::calls::rules::RuleList;
use api::calls::servers::tools::ServerTools;
use api::calls::{Nothing, OneServer};
use api::dto::server::HealthKind;
use api::dto::task::run_limit::AtRunLimit;
use api::dto::{AtLimitDto, RepeatDto, RuleDto, ScopeDto, ServerDto, WhoIsAsked};
use api::format::time;
use api::format::tokens::grouped;
use api::suggestion::did_you_mean;
use api::{ApiError, Code};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::input::run_time::{self, span};
use super::input::{amount, call_count};
use super::output::screen::Screen;
use super::output::sentences::one_line;
use super::output::table;
use super::output::table::{TableLayout, text};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::Config;

/// Commands about rules.
#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// List all rules.
    List,
    /// Set fields of the rule for an agent, a server or a tool.
    Set(Box<SetRuleArgs>),
    /// Remove the rule for an agent, a server or a tool.
    Unset(RuleScopeArgs),
}

/// What a rule applies to.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("scope").required(true).args(["agent", "server"]).multiple(false)))]
pub(crate) struct RuleScopeArgs {
    /// Everything that this agent starts.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Everything on this server.
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only this tool of the server.
    #[arg(long, value_name = "TOOL", requires = "server", conflicts_with = "agent")]
    tool: Option<String>,
}

/// The fields of a rule.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).multiple(true).args([
    "ask", "repeat", "hold_results", "task_after", "hold_cut", "result_tokens", "task_tokens", "window_tokens",
    "time_limit", "progress_limit", "same_calls", "calls_per_minute", "open_calls", "alarm",
])))]
pub(crate) struct SetRuleArgs {
    #[command(flatten)]
    scope: RuleScopeArgs,
    /// Who is asked when a task has a question.
    #[arg(long, value_name = "WHO")]
    ask: Option<Who>,
    /// With `agent-then-people`: the time after which people are asked too, such as `5min`.
    #[arg(long, value_name = "TIME", requires = "ask")]
    people_after: Option<String>,
    /// What a repeated call does while the first one is open and its reply could not be delivered.
    #[arg(long, value_name = "HOW")]
    repeat: Option<How>,
    /// Whether results are held until a person releases them.
    #[arg(long, value_name = "BOOL")]
    hold_results: Option<bool>,
    /// How long a call runs before it becomes a task, for agents with task support, such as `2s`.
    #[arg(long, value_name = "TIME")]
    task_after: Option<String>,
    /// Whether to hold a result that the agent's program would silently cut, and give it in parts. Default: true. A
    /// limit set with `--result-tokens` takes precedence.
    #[arg(long, value_name = "BOOL")]
    hold_cut: Option<bool>,
    /// Most tokens in one result or error, and the action above it: `warn`, `ask` or `hold` (in parts), such as
    /// `20k:ask`. Default action: `hold`. `none` removes the limit.
    #[arg(long, value_name = "TOKENS[:WHAT]", allow_negative_numbers = true)]
    result_tokens: Option<String>,
    /// Most tokens that one task may produce, and the action above it: `warn`, `ask` or `stop`, such as `60k:stop`.
    /// Default action: `ask`.
    #[arg(long, value_name = "TOKENS[:WHAT]", allow_negative_numbers = true)]
    task_tokens: Option<String>,
    /// Most tokens in the window of an agent, and the action for a result that does not fit: `warn`, `ask` or `hold`,
    /// such as `160k:hold`. Default action: `ask`.
    #[arg(long, value_name = "TOKENS[:WHAT]", conflicts_with = "server", allow_negative_numbers = true)]
    window_tokens: Option<String>,
    /// How long a task may run, and the action after that: `warn`, `ask` or `cancel`, such as `30min:ask`. Time that it
    /// waits for people is not counted. Applies to tasks that begin afterwards. Default action: `ask`. `none` removes the
    /// limit.
    #[arg(long, value_name = "TIME[:WHAT]", allow_negative_numbers = true)]
    time_limit: Option<String>,
    /// How long a task may run without progress, and the action after that: `warn`, `ask` or `cancel`, such as
    /// `10min:warn`. Default action: `ask`. `none` removes the limit.
    #[arg(long, value_name = "TIME[:WHAT]", allow_negative_numbers = true)]
    progress_limit: Option<String>,
    /// How many equal calls of an agent raise an alarm, and within which time, such as `20/10min`. An equal result counts
    /// twice. `off` turns the alarm off, `none` returns to the default, `10/10min`.
    #[arg(long, value_name = "COUNT/TIME", allow_negative_numbers = true)]
    same_calls: Option<String>,
    /// How many calls of an agent in a minute raise an alarm, such as `600`. `off` turns the alarm off, `none` returns to
    /// the default, `300`.
    #[arg(long, value_name = "COUNT", conflicts_with = "server", allow_negative_numbers = true)]
    calls_per_minute: Option<String>,
    /// How many calls of an agent in flight at once raise an alarm, such as `100`. `off` turns the alarm off, `none`
    /// returns to the default, `64`.
    #[arg(long, value_name = "COUNT", conflicts_with = "server", allow_negative_numbers = true)]
    open_calls: Option<String>,
    /// What happens when an alarm is raised: people are told; further calls of that kind wait until a person sends or
    /// cancels them; or the open tasks of that kind are cancelled. Default: `warn`. `none` leaves it to the wider rule.
    #[arg(long, value_name = "WHAT")]
    alarm: Option<AtAlarm>,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Who {
    People,
    Agent,
    AgentThenPeople,
    Both,
}

/// What happens when an alarm is raised.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum AtAlarm {
    Warn,
    Ask,
    Cancel,
    None,
}

/// What a repeated call means.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum How {
    Join,
    New,
}

pub(crate) async fn run(command: RulesCommand, config: &Config, screen: &Screen) -> CommandResult {
    match command {
        RulesCommand::List => {
            let list: RuleList = CoreClient::attach_or_read(config).await?.request("rules.list", &Nothing {}).await?;
            print(&list, screen)
        }
        RulesCommand::Set(input) => set(*input, config, screen).await,
        RulesCommand::Unset(scope) => {
            let (core, scope) = (CoreClient::attach(config)?, scope.named());
            let kept: RuleList = core.request("rules.list", &Nothing {}).await?;
            let was_there = kept.rules.iter().any(|rule| rule.scope == scope);
            // Asked for in any case: it names a server or an agent that is unknown.
            let list: RuleList = core.request("rules.put", &blank(scope)).await?;
            if !was_there {
                let hint = "List the rules with `taskwarden rules list`.";
                return Err(ApiError::new(Code::NotFound, "there is no such rule", hint));
            }
            print(&list, screen)
        }
    }
}

async fn set(input: SetRuleArgs, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let scope = input.scope.named();
    let mut kept = read(&core, &scope).await?;
    let list: RuleList = loop {
        let rule = changed(kept.clone(), &input)?;
        let refused = match core.request("rules.put", &rule).await {
            Ok(list) => break list,
            Err(refused) => refused,
        };
        // Where somebody else changed another field meanwhile, both changes hold.
        let newest = read(&core, &scope).await?;
        if newest.version == kept.version {
            return Err(refused);
        }
        kept = newest;
    };
    if let Some(words) = unknown_tool(&core, &scope).await {
        screen.warning(&words);
    }
    print(&list, screen)
}

/// The rule of this scope as it is now; one that says nothing where there is none.
async fn read(core: &CoreClient, scope: &ScopeDto) -> Result<RuleDto, ApiError> {
    let kept: RuleList = core.request("rules.list", &Nothing {}).await?;
    let rule = kept.rules.into_iter().find(|rule| rule.scope == *scope);
    Ok(rule.unwrap_or_else(|| RuleDto { version: Some(0), ..blank(scope.clone()) }))
}

/// The rule with the fields that the command line names.
fn changed(mut rule: RuleDto, input: &SetRuleArgs) -> Result<RuleDto, ApiError> {
    let SetRuleArgs { ask, people_after, repeat, hold_results, task_after, hold_cut, .. } = input;
    let SetRuleArgs { result_tokens, task_tokens, window_tokens, time_limit, progress_limit, .. } = input;
    let SetRuleArgs { same_calls, calls_per_minute, open_calls, alarm, .. } = input;
    if let Some(who) = ask {
        rule.asked = Some(match who {
            Who::People => WhoIsAsked::People,
            Who::Agent => WhoIsAsked::Agent,
            Who::AgentThenPeople => WhoIsAsked::AgentThenPeople,
            Who::Both => WhoIsAsked::Both,
        });
        rule.people_after_ms = people_after.as_deref().map(span).transpose()?;
    }
    if let Some(how) = repeat {
        rule.repeat = Some(match how {
            How::Join => RepeatDto::Join,
            How::New => RepeatDto::New,
        });
    }
    rule.hold_results = hold_results.or(rule.hold_results);
    rule.hold_cut = hold_cut.or(rule.hold_cut);
    if let Some(after) = task_after {
        rule.promote_after_ms = Some(span(after)?);
    }
    for (said, fallback, limit) in [
        (result_tokens, AtLimitDto::Hold, &mut rule.result_limit),
        (task_tokens, AtLimitDto::Ask, &mut rule.task_limit),
        (window_tokens, AtLimitDto::Ask, &mut rule.window_limit),
    ] {
        if let Some(said) = said {
            *limit = amount::limit(said, fallback)?;
        }
    }
    for (said, limit) in [(time_limit, &mut rule.time_limit), (progress_limit, &mut rule.progress_limit)] {
        if let Some(said) = said {
            *limit = run_time::limit(said)?;
        }
    }
    if let Some(said) = same_calls {
        rule.same_call_limit = call_count::same_calls(said)?;
    }
    for (said, limit) in [(calls_per_minute, &mut rule.calls_per_minute), (open_calls, &mut rule.open_calls)] {
        if let Some(said) = said {
            *limit = call_count::calls(said)?;
        }
    }
    if let Some(alarm) = alarm {
        rule.alarm_action = match alarm {
            AtAlarm::Warn => Some(AtRunLimit::Warn),
            AtAlarm::Ask => Some(AtRunLimit::Ask),
            AtAlarm::Cancel => Some(AtRunLimit::Cancel),
            AtAlarm::None => None,
        };
    }
    Ok(rule)
}

/// A warning where the rule is for a tool that its server does not list now. The server may list it later, or may not be
/// connected, so the rule counts all the same.
async fn unknown_tool(core: &CoreClient, scope: &ScopeDto) -> Option<String> {
    let ScopeDto::Tool { server, tool } = scope else { return None };
    let named = OneServer { name: server.clone() };
    let shown: ServerDto = core.request("servers.show", &named).await.ok()?;
    if shown.health.kind != HealthKind::Up {
        return None;
    }
    let list: ServerTools = core.request("servers.tools", &named).await.ok()?;
    let known: Vec<&str> = list.tools.iter().map(|tool| tool.name.as_str()).collect();
    unknown_tool_words(server, tool, &known)
}

fn unknown_tool_words(server: &str, tool: &str, known: &[&str]) -> Option<String> {
    if known.contains(&tool) {
        return None;
    }
    let near = did_you_mean(tool, known.iter().copied()).map(|words| one_line(&words));
    let (server, tool) = (one_line(server), one_line(tool));
    let next = near.unwrap_or_else(|| format!("`taskwarden servers tools {server}` lists them."));
    Some(format!("server `{server}` has no tool `{tool}` now; the rule counts when it has one. {next}"))
}

fn print(list: &RuleList, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(list);
    }
    if list.rules.is_empty() {
        screen.line("No rules: people are asked, a repeated call joins the first one, results are delivered at once.");
        return Ok(DONE);
    }
    let rows = list
        .rules
        .iter()
        .map(|rule| {
            let unsaid = || "-".to_owned();
            vec![
                text(scope_words(&rule.scope)),
                text(asked_words(rule).unwrap_or_else(unsaid)),
                text(rule.repeat.map_or_else(unsaid, |repeat| repeat_word(repeat).into())),
                text(rule.hold_results.map_or_else(unsaid, |hold| if hold { "yes" } else { "no" }.into())),
                text(rule.promote_after_ms.map_or_else(unsaid, time::span_ms)),
                text(limit_words(rule).unwrap_or_else(unsaid)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &["FOR", "ASKS", "REPEAT", "HOLDS RESULTS", "TASK AFTER", "LIMITS"],
        cut: &["FOR"],
        spare: &["TASK AFTER", "REPEAT", "HOLDS RESULTS", "ASKS"],
    };
    table::print(screen, layout, rows);
    Ok(DONE)
}

fn scope_words(scope: &ScopeDto) -> String {
    match scope {
        ScopeDto::Agent { agent } => format!("agent {}", one_line(agent)),
        ScopeDto::Server { server } => format!("server {}", one_line(server)),
        ScopeDto::Tool { server, tool } => format!("tool {} of {}", one_line(tool), one_line(server)),
    }
}

fn asked_words(rule: &RuleDto) -> Option<String> {
    Some(match rule.asked? {
        WhoIsAsked::People => "people".into(),
        WhoIsAsked::Agent => "the agent".into(),
        WhoIsAsked::Both => "both".into(),
        WhoIsAsked::AgentThenPeople => {
            format!("the agent, then people after {}", time::span_ms(rule.people_after_ms.unwrap_or_default()))
        }
    })
}

/// `result 20,000 hold, window 160,000 ask`.
fn limit_words(rule: &RuleDto) -> Option<String> {
    let limits = [("result", rule.result_limit), ("task", rule.task_limit), ("window", rule.window_limit)];
    let cut = rule.hold_cut.map(|hold| if hold { "holds what would be cut" } else { "lets results be cut" }.to_owned());
    let run_limits =
        [("time", rule.time_limit), ("no progress", rule.progress_limit)].into_iter().filter_map(|(what, limit)| {
            let limit = limit?;
            Some(format!("{what} {} {}", time::span_ms(limit.allowed_ms), limit.at))
        });
    let said: Vec<String> = limits
        .into_iter()
        .filter_map(|(what, limit)| {
            let limit = limit?;
            Some(format!("{what} {} {}", grouped(limit.tokens), amount::at_word(limit.at)))
        })
        .chain(run_limits)
        .chain(alarm_words(rule))
        .chain(cut)
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// `alarm at 20 equal calls in 10 min`, `no alarm for calls at once`.
fn alarm_words(rule: &RuleDto) -> Vec<String> {
    let same = rule.same_call_limit.map(|limit| match limit.count {
        0 => "no alarm for equal calls".to_owned(),
        count => format!("alarm at {count} equal calls in {}", time::span_ms(limit.window_ms)),
    });
    let numbers = [("in a minute", rule.calls_per_minute), ("at once", rule.open_calls)];
    let of_agent = numbers.into_iter().filter_map(|(when, calls)| {
        Some(match calls? {
            0 => format!("no alarm for calls {when}"),
            1 => format!("alarm at 1 call {when}"),
            calls => format!("alarm at {} calls {when}", grouped(calls.into())),
        })
    });
    let action = rule.alarm_action.map(|at| format!("at an alarm: {at}"));
    same.into_iter().chain(of_agent).chain(action).collect()
}

const fn repeat_word(repeat: RepeatDto) -> &'static str {
    match repeat {
        RepeatDto::Join => "joins",
        RepeatDto::New => "is new",
    }
}

fn blank(scope: ScopeDto) -> RuleDto {
    RuleDto {
        scope,
        version: None,
        asked: None,
        people_after_ms: None,
        repeat: None,
        hold_results: None,
        promote_after_ms: None,
        hold_cut: None,
        result_limit: None,
        task_limit: None,
        window_limit: None,
        time_limit: None,
        progress_limit: None,
        same_call_limit: None,
        calls_per_minute: None,
        open_calls: None,
        alarm_action: None,
    }
}

impl RuleScopeArgs {
    /// Clap makes sure that one of them is given.
    fn named(&self) -> ScopeDto {
        let Self { agent, server, tool } = self;
        match (agent.clone(), server.clone().unwrap_or_default(), tool.clone()) {
            (Some(agent), ..) => ScopeDto::Agent { agent },
            (None, server, Some(tool)) => ScopeDto::Tool { server, tool },
            (None, server, None) => ScopeDto::Server { server },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_for_a_tool_that_is_not_listed_names_the_nearest() {
        let known = ["deploy_prod", "index_folder"];
        assert_eq!(unknown_tool_words("ci", "deploy_prod", &known), None, "it is there");
        let near = unknown_tool_words("ci", "deploy_prd", &known).expect("a warning");
        assert!(near.contains("no tool `deploy_prd`") && near.contains("Did you mean `deploy_prod`?"), "{near}");
        let far = unknown_tool_words("ci", "nope", &known).expect("a warning");
        assert!(far.contains("`taskwarden servers tools ci`"), "{far}");
    }

    #[test]
    fn one_call_is_no_calls() {
        let scope = ScopeDto::Agent { agent: "bee".into() };
        let rule = RuleDto { calls_per_minute: Some(1), open_calls: Some(0), ..blank(scope.clone()) };
        assert_eq!(alarm_words(&rule), ["alarm at 1 call in a minute", "no alarm for calls at once"]);
        let rule = RuleDto { calls_per_minute: Some(1_200), ..blank(scope) };
        assert_eq!(alarm_words(&rule), ["alarm at 1,200 calls in a minute"]);
    }
}
