//! Labels of a menu or tooltip: a row of the inbox, and the fullest window, in a few harmless words.
//!
//! Server texts and names are cut to one line and lose what could disturb a menu. Which rows are shown, and where, is
//! up to the shell; a label answers nothing.

use api::dto::inbox::row::InboxKind;
use api::dto::{BudgetList, InboxRow};
use api::format::tokens::{marked_tokens, share};
use api::format::{alarm, pause};

/// The longest part of a label in letters. Judgement: menus do not wrap.
const LETTERS: usize = 60;

/// The fullest window, once it reaches the warning share: `research-7: 82 % of its window`.
#[must_use]
pub fn gauge(list: &BudgetList) -> Option<String> {
    let full = list.budgets.iter().filter_map(|budget| Some((share(budget)?, budget)));
    let (percent, budget) = full.max_by_key(|(percent, _)| *percent)?;
    let is_told = percent >= u64::from(list.warn_percent);
    is_told.then(|| format!("{}: {percent} % of its window", cut(&plain(&budget.agent), LETTERS)))
}

/// One line about a row of the inbox: the server's message or our own words, and where it comes from.
#[must_use]
pub fn item(row: &InboxRow) -> String {
    let tool = row.tool.as_deref().unwrap_or("A task");
    let said = row.message.as_deref().map(plain).filter(|said| !said.is_empty());
    let (what, names_tool) = match row.kind {
        InboxKind::Overdue => (format!("{tool} runs long"), true),
        InboxKind::Lost => (format!("{tool} was lost"), true),
        InboxKind::Unconfirmed => (format!("{tool} is not confirmed"), true),
        InboxKind::Held => {
            let size = row.tokens.zip(row.exactness).map(|(number, exactness)| marked_tokens(number, exactness));
            (size.map_or_else(|| "A result is held".into(), |size| format!("A result of {size} is held")), false)
        }
        InboxKind::OverLimit => (format!("{tool} went past its limit of tokens"), true),
        InboxKind::TimeLimit => (format!("{tool} reached its time limit"), true),
        InboxKind::Alarm => (row.alarm.as_deref().map_or_else(|| "An alarm".to_owned(), alarm::what), false),
        InboxKind::PauseChoice => {
            (row.pause.as_deref().map_or_else(|| "Calls wait for your choice".to_owned(), pause::asks), false)
        }
        InboxKind::Blocked => ("A server needs you".to_owned(), false),
        InboxKind::Form | InboxKind::Url | InboxKind::Unsupported => {
            (said.unwrap_or_else(|| format!("{tool} asks")), false)
        }
    };
    let what = cut(&plain(&what), LETTERS);
    let place = match &row.tool {
        // It names what is paused.
        _ if row.kind == InboxKind::PauseChoice => return what,
        Some(tool) if !names_tool => format!("{}, {tool}", row.server),
        _ => row.server.clone(),
    };
    format!("{what} · {}", cut(&plain(&place), LETTERS))
}

/// Text on one line, without control characters and without those that change the writing direction.
fn plain(text: &str) -> String {
    let steers =
        |c: char| matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}');
    let kept = text.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| !steers(*c));
    kept.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}
