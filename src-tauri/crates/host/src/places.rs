//! Places of the window by the hash of their address, and the `taskwarden://` links that lead to them.
//!
//! Notices, the tray and links name places; only a window shows them. Links open and nothing else (ruling 30):
//! whatever stands in one, the worst it can do is to show a place. A link that makes no sense shows the window as it
//! is. The page routes by the hash of its address.

use url::Url;

/// The inbox.
pub const INBOX: &str = "#/inbox";

/// The budgets of all agents.
pub const BUDGETS: &str = "#/budgets";

/// The settings; a pause of notifications is one of them.
pub const SETTINGS: &str = "#/settings";

/// Letters of an id in a link; ours are far shorter. Judgement.
const LETTERS_MOST: usize = 512;

/// The place of an item of the inbox.
#[must_use]
pub fn inbox_item(id: &str) -> String {
    format!("{INBOX}/{}", encoded(id))
}

/// The budget of an agent, by its id.
#[must_use]
pub fn budget(agent: &str) -> String {
    format!("{BUDGETS}/{}", encoded(agent))
}

/// The place that a link names; `None` when it makes no sense.
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

/// As `encodeURIComponent` does.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The text of a part of a link; `None` when it is none.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits =
                std::str::from_utf8(&digits).ok().filter(|pair| pair.bytes().all(|d| d.is_ascii_hexdigit()))?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
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
