//! Entries of agent programs that lead to an agent or a server which is gone, and how each is taken back.
//!
//! The core names them; nothing is changed here.

use api::calls::left_entries::LeftEntries;

use super::screen::Screen;
use super::sentences::one_line;

/// Names the entries under a sentence that says where they lead; nothing when there is none.
pub(crate) fn print(lead: &str, left: &[LeftEntries], screen: &Screen) {
    if left.is_empty() {
        return;
    }
    screen.line(&format!("Entries of agent programs still {lead}:"));
    for file in left {
        screen.line(&format!("  {}", line(file)));
    }
    let mut clients: Vec<&str> = left.iter().filter(|file| file.undo).map(|file| file.client.as_str()).collect();
    clients.dedup();
    for client in clients {
        screen.line(&format!("To take them back: taskwarden clients undo {client}"));
    }
}

fn line(LeftEntries { client, path, entries, undo }: &LeftEntries) -> String {
    let entries: Vec<String> = entries.iter().map(|entry| one_line(entry)).collect();
    let by_hand = if *undo { "" } else { " (not routed by Taskwarden; remove by hand)" };
    format!("{client}: {} in {}{by_hand}", entries.join(", "), one_line(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_somebody_else_wrote_is_not_promised_to_be_taken_back() {
        let of = |undo| LeftEntries {
            client: "codex".into(),
            path: "/home/ada/.codex/config.toml".into(),
            entries: vec!["notes".into(), "hives\n\n".into()],
            undo,
        };
        assert_eq!(line(&of(true)), "codex: notes, hives in /home/ada/.codex/config.toml");
        let by_hand = " (not routed by Taskwarden; remove by hand)";
        assert_eq!(line(&of(false)), format!("{}{by_hand}", line(&of(true))));
    }
}
