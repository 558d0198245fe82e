//! `taskwarden inbox answered`: who answered what; `taskwarden inbox rules`: what is answered without asking.
//!
//! It ends rules and makes none: a rule is made where the whole question is seen, in the window. What may have a rule is
//! decided in `domain::task::input_request::standing_answer`.

use api::calls::inbox::answer_rules::OneAnswerRule;
use api::calls::inbox::answered::ListAnswered;
use api::dto::inbox::answered::{AnswerRuleDto, AnswerRuleList, AnsweredDto, AnsweredField, AnsweredList};
use api::dto::{DeliveryDto, DoorDto, moment};
use api::format::time;

use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::cli::output::screen::Screen;
use crate::cli::output::sentences::{self, one_line, short_id};
use crate::cli::output::table::{self, TableLayout, text};
use crate::config::Config;

/// Prints a page of the answered questions, the last answered first.
pub(crate) async fn run(page: Option<u32>, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach_or_read(config).await?;
    let limit = config.policy.asking.answered_page_rows;
    let offset = u64::from(page.unwrap_or(1).saturating_sub(1)).saturating_mul(u64::from(limit));
    let list: AnsweredList =
        core.request("inbox.answered", &ListAnswered { offset: Some(offset), limit: Some(limit) }).await?;
    if screen.is_json() {
        return screen.json(&list);
    }
    if list.items.is_empty() {
        screen.line("No answered questions are kept. Answers stay as long as their tasks.");
        return Ok(DONE);
    }
    let (whole, now) = (!screen.is_terminal(), sentences::now());
    let rows = list
        .items
        .iter()
        .map(|one| {
            let at = moment(&one.at).map(|at| time::ago(at, now)).unwrap_or_default();
            vec![
                text(short_id(&one.task, whole)),
                text(at),
                text(who(one)),
                text(one.server.clone()),
                text(one.tool.as_deref().map_or_else(|| "-".into(), one_line)),
                text(one_line(&one.message)),
                text(answer(one)),
            ]
        })
        .collect();
    let layout = TableLayout {
        header: &["TASK", "ANSWERED", "BY", "SERVER", "TOOL", "QUESTION", "ANSWER"],
        cut: &["TOOL", "QUESTION", "ANSWER"],
        spare: &["TOOL", "SERVER"],
    };
    table::print(screen, layout, rows);
    let upto = list.offset.saturating_add(u64::try_from(list.items.len()).unwrap_or(u64::MAX));
    if upto < list.total {
        let next = page.unwrap_or(1).saturating_add(1);
        screen
            .line(&format!("\n{upto} of {} shown. Next page: `taskwarden inbox answered --page {next}`.", list.total));
    }
    Ok(DONE)
}

/// Prints the rules that answer, or ends one of them first.
pub(crate) async fn rules(end: Option<&str>, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let list: AnswerRuleList = match end {
        Some(rule) => core.request("answers.end", &OneAnswerRule { rule: rule.to_owned() }).await?,
        None => core.request("answers.rules", &api::calls::Nothing {}).await?,
    };
    if screen.is_json() {
        return screen.json(&list);
    }
    let standing: Vec<&AnswerRuleDto> = list.rules.iter().filter(|rule| rule.ended_at.is_none()).collect();
    if standing.is_empty() {
        screen.line("No rule answers questions. The window makes one from an answer.");
    }
    for rule in standing {
        let answer = what(rule.action.to_string(), &rule.fields, false);
        screen.line(&format!(
            "{}: answers “{}” of {} on {} with {answer}",
            rule.id,
            one_line(&rule.question),
            one_line(&rule.tool),
            one_line(&rule.server)
        ));
        screen.line(&format!(
            "  version {} by {}; answered {} of the tasks that are kept; `taskwarden inbox rules --end {}` ends it",
            rule.version,
            one_line(&rule.by),
            rule.applied,
            rule.id
        ));
    }
    Ok(DONE)
}

fn who(one: &AnsweredDto) -> String {
    let door = one.origin.as_ref().map(|origin| match origin.door {
        DoorDto::Window => " in the window",
        DoorDto::Browser => " in a browser",
        DoorDto::Terminal => " in a terminal",
    });
    match &one.rule {
        Some(rule) => format!("rule {} version {}", rule.id, rule.version),
        None => format!("{}{}", one_line(&one.by), door.unwrap_or_default()),
    }
}

/// What was answered, and whether the server cannot acknowledge it any more.
fn answer(one: &AnsweredDto) -> String {
    let answer = what(one.action.to_string(), &one.fields, one.is_erased);
    if one.is_over && one.delivery == DeliveryDto::Sent {
        return format!("{answer} (the call ended before the server acknowledged it)");
    }
    answer
}

/// An answer in one line; secrets as dots.
fn what(action: String, fields: &[AnsweredField], is_erased: bool) -> String {
    if is_erased {
        return format!("{action} (erased: its form asked for a secret)");
    }
    let fields: Vec<String> = fields
        .iter()
        .map(|field| {
            format!("{}: {}", one_line(&field.title), field.value.as_deref().map_or_else(|| "••••".into(), one_line))
        })
        .collect();
    if fields.is_empty() { action } else { format!("{action}, {}", fields.join("; ")) }
}
