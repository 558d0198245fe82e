//! A pause that asks which of the waiting calls are sent, as an item of the inbox.

use serde_json::{Value, json};

use super::{CHOOSES_AT_ONCE, Paused, words};

impl Paused {
    /// What the inbox of the command line asks to decide.
    fn decisions(&self) -> Vec<Value> {
        let inbox = self.gate.home().json(["inbox", "--json"]);
        inbox["decisions"].as_array().expect("decisions").clone()
    }
}

#[test]
fn a_pause_that_asks_which_calls_are_sent_is_in_the_inbox_over_a_restart_until_that_is_decided() {
    let mut paused = Paused::open();
    paused.gate.kill();
    paused.gate.start_with(CHOOSES_AT_ONCE);
    paused.ok(&["pause", "order-bot", "--reason", "wrong month"]);
    assert_eq!(paused.decisions(), Vec::<Value>::new(), "nothing waits yet");
    let ids = paused.calls_that_wait(&words(6));
    let said = paused.ok(&["inbox"]).out;
    assert!(said.contains("6 calls of order-bot wait for your choice. Paused "), "{said}");
    assert!(said.contains(&format!("note on notes ({})", ids[0])) && said.contains("and 2 more"), "{said}");
    assert!(said.contains("taskwarden unpause order-bot --all, --send ID"), "the command that decides: {said}");

    paused.gate.kill();
    paused.gate.start_with(CHOOSES_AT_ONCE);
    let [row] = &paused.decisions()[..] else { panic!("one item after a restart: {:?}", paused.decisions()) };
    let told = &row["pause"];
    assert_eq!((&row["kind"], &row["agent"]), (&json!("pauseChoice"), &json!("order-bot")), "{row}");
    assert_eq!((&told["waiting"], &told["calls"][5]["id"]), (&json!(6), &json!(ids[5])), "{row}");
    paused.ok(&["unpause", "order-bot", "--send", &ids[0]]);
    assert_eq!(paused.decisions(), Vec::<Value>::new(), "it is decided");
    paused.until_got(&words(1));
}
