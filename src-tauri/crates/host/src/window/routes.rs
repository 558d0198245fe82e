//! Routes of the window, by the hash of its address, and the `taskwarden://` links that lead to them.
//!
//! Notifications, the tray and links name routes; only a window shows them. Links open and do nothing else (ruling 30):
//! the worst a link can do is to show a place. A link without meaning shows the window as it is.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

/// Shows a route in the window (`#/inbox/…`, `#/tasks/hdl_…`). Called from any thread; it returns at once.
pub type Opener = Arc<dyn Fn(&str) + Send + Sync>;

/// The route of the inbox.
pub const INBOX: &str = "#/inbox";

/// The route of all budgets.
pub const BUDGETS: &str = "#/budgets";

/// The route of the settings.
pub const SETTINGS: &str = "#/settings";

/// The route of what is halted.
pub const HALT: &str = "#/halt";

/// The route of the dialog that halts. It only opens it: a person types the word there.
pub const NEW_HALT: &str = "#/halt/new";

/// The longest id in a link; ours are far shorter. Judgement.
const LETTERS_MOST: usize = 512;

/// The route of a row of the inbox.
#[must_use]
pub fn inbox_item(id: &str) -> String {
    format!("{INBOX}/{}", encoded(id))
}

/// The route of an agent's budget, by the agent's id.
#[must_use]
pub fn budget(agent: &str) -> String {
    format!("{BUDGETS}/{}", encoded(agent))
}

/// The route that a link names; `None` if it has no meaning.
#[must_use]
pub fn place(link: &Url) -> Option<String> {
    if link.scheme() != "taskwarden" {
        return None;
    }
    let id = decoded(link.path().trim_start_matches('/'))?;
    match (link.host_str(), id.as_str()) {
        (Some("inbox"), "") => Some(INBOX.to_owned()),
        (Some("budgets"), "") => Some(BUDGETS.to_owned()),
        (Some("inbox"), id) if id.len() <= LETTERS_MOST && !id.contains(char::is_control) => Some(inbox_item(id)),
        (Some("task"), id) if is_handle(id) => Some(format!("#/tasks/{id}")),
        _ => None,
    }
}

/// Whether it has the shape of a handle.
fn is_handle(id: &str) -> bool {
    id.strip_prefix("hdl_")
        .is_some_and(|rest| (1..=LETTERS_MOST).contains(&rest.len()) && rest.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// What `encodeURIComponent` leaves as it is, beside letters and digits.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, COMPONENT).to_string()
}

/// The text of a part of a link; `None` when an escape is not one, or the text is not UTF-8.
fn decoded(part: &str) -> Option<String> {
    let is_escape = |after: &str| after.len() >= 2 && after.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    if !part.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(part).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(link: &str, expected: Option<&str>) {
        let url: Url = link.parse().unwrap();
        assert_eq!(place(&url).as_deref(), expected, "{link}");
    }

    #[test]
    fn links_to_tasks_and_items_open_their_place() {
        check("taskwarden://task/hdl_01ABC", Some("#/tasks/hdl_01ABC"));
        check("taskwarden://inbox", Some("#/inbox"));
        check("taskwarden://budgets", Some("#/budgets"));
        check("taskwarden://inbox/hdl_1/go", Some("#/inbox/hdl_1%2Fgo"));
        check("taskwarden://inbox/hdl_1%2Fkey%20one", Some("#/inbox/hdl_1%2Fkey%20one"));
        check("taskwarden://inbox/d%C3%A9mo/blocked", Some("#/inbox/d%C3%A9mo%2Fblocked"));
    }

    #[test]
    fn a_link_that_is_none_of_ours_leads_nowhere() {
        for link in [
            "taskwarden://task/",
            "taskwarden://task/hdl_a/../../servers",
            "taskwarden://task/hdl_a%00",
            "taskwarden://answer/hdl_a",
            "taskwarden://inbox/%zz",
            "taskwarden://inbox/%0A",
            "taskwarden://inbox/%ff",
            "https://task/hdl_a",
        ] {
            check(link, None);
        }
        check(&format!("taskwarden://inbox/{}", "a".repeat(LETTERS_MOST + 1)), None);
    }
}
