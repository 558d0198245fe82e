//! What a person sees on the desktop, and what the buttons do.

use futures::StreamExt as _;
use serde_json::json;

use super::screen::{Screen, asker};
use crate::home::Home;
use crate::window::{call, watching, window};

#[test]
fn a_question_comes_to_the_desktop_and_goes_when_it_is_answered_elsewhere() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    let id = started(&home, "ask_roughly");
    let card = screen.card("asker needs an answer");
    let body = card["body"].as_str().expect("a body");
    assert!(body.starts_with("ask_roughly is paused · since "), "which task, and since when: {body}");
    assert!(!body.contains("index"), "nothing of the question where it cannot be answered: {body}");
    assert_eq!(card["actions"], json!({}), "a core without a window opens none");
    home.ok(&["tasks", "answer", &id, "--accept", r#"{"go":true}"#]);
    screen.gone(&card);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_presses_a_card_decides_nothing_and_hides_nothing() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    let id = started(&home, "ask_kindly");
    let card = screen.card("asker needs an answer");
    let body = card["body"].as_str().expect("a body");
    assert!(!body.contains("index"), "nothing of the question, because nothing is answered here: {body}");
    assert_eq!(card["actions"], json!({}), "also where the tool says that it destroys nothing");
    // A second client of the bus, and the service itself. The core hears one press of a card.
    let presses = ["yes", "no", "later", "default", "open", "close"];
    screen.forge(&card, &presses);
    for press in presses {
        screen.press_once(&card, press);
    }
    // What is told now was heard after them.
    asker(&home, "other");
    begun(&home, "other", "ask_roughly");
    screen.card("other needs an answer");
    assert_eq!(home.task(&id)["requests"][0]["state"], "open", "nobody answered");
    let core = window(&home).await;
    let put_off = call(&core, "desk.list", json!({ "kind": "snooze" })).await["items"].take();
    assert_eq!(put_off, json!([]), "and nothing is hidden from the inbox");
    home.ok(&["tasks", "answer", &id, "--accept", r#"{"go":true}"#]);
    assert_eq!(home.watch(&id), Some(0), "the person answers");
}

#[test]
fn each_press_that_is_forged_alone_decides_nothing() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    for press in ["yes", "no", "later"] {
        let id = started(&home, "ask_kindly");
        let card = screen.card("asker needs an answer");
        screen.forge(&card, &[press]);
        asker(&home, press);
        let next = begun(&home, press, "ask_roughly");
        screen.card(&format!("{press} needs an answer"));
        assert_eq!(home.task(&id)["requests"][0]["state"], "open", "`{press}` answered");
        for id in [&id, &next] {
            home.ok(&["tasks", "answer", id, "--decline"]);
        }
        assert_eq!(home.watch(&id), Some(0), "the person answers");
    }
}

#[test]
fn a_pause_that_asks_which_calls_are_sent_is_one_card_until_that_is_decided() {
    let screen = Screen::new();
    let home = Home::new();
    let _core = screen.core_with(&home, &[("TASKWARDEN_POLICY_PAUSES_CHOICE_AFTER", "3s")]);
    asker(&home, "asker");
    home.ok(&["pause", "asker", "--freeze", "--reason", "wrong month"]);
    begun(&home, "asker", "ask_roughly");
    let card = screen.card("1 call to asker waits for your choice");
    let body = card["body"].as_str().expect("a body");
    assert!(body.starts_with("Frozen since ") && body.ends_with("it was not sent."), "{body}");
    assert!(!body.contains("wrong month") && !body.contains("ask_roughly"), "no words of anybody: {body}");
    assert_eq!(card["actions"], json!({}), "it decides nothing");
    home.ok(&["unpause", "asker", "--none"]);
    screen.gone(&card);
}

#[test]
fn a_burst_of_questions_becomes_one_card_that_counts_down_and_goes() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    let servers = ["asker", "asker2", "asker3", "asker4", "asker5"];
    for name in &servers[1..] {
        asker(&home, name);
    }
    let asked = servers.map(|name| begun(&home, name, "ask_roughly"));
    let many = screen.until("they are one card", |fact| {
        let title = fact["title"].as_str().unwrap_or_default();
        title.ends_with("items need you") && fact["body"].as_str().is_some_and(|body| body.contains("questions"))
    });
    assert_eq!(many["actions"], json!({}));
    for id in &asked {
        assert_eq!(home.watch(id), Some(6), "it asks");
        home.ok(&["tasks", "answer", id, "--decline"]);
    }
    screen.gone(&many);
}

#[test]
fn a_card_that_was_taken_away_is_told_anew_in_a_card_of_its_own_and_a_core_that_ends_leaves_none() {
    let screen = Screen::new();
    let (home, core) = screen.core();
    started(&home, "ask_roughly");
    let first = screen.card("asker needs an answer");
    screen.close(&first);
    asker(&home, "other");
    begun(&home, "other", "ask_roughly");
    let second = screen.card("other needs an answer");
    assert_ne!(first["id"], second["id"], "each task has its own");
    core.signal(rustix::process::Signal::TERM);
    screen.gone(&second);
    assert_eq!(core.ended(), Some(0), "it drains and ends well");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_was_put_off_in_the_window_loses_its_card_until_it_comes_back() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    let id = started(&home, "ask_roughly");
    let card = screen.card("asker needs an answer");
    let core = window(&home).await;
    let key = format!("{id}/{}", home.task(&id)["requests"][0]["key"].as_str().expect("a key"));
    let until = json!({ "kind": "snooze", "key": key, "value": { "until": "2999-01-01T00:00:00.000Z" } });
    call(&core, "desk.put", until).await;
    screen.gone(&card);
    call(&core, "desk.put", json!({ "kind": "snooze", "key": key, "value": null })).await;
    screen.card("asker needs an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_holds_notices_and_nothing_is_told_of_what_is_on_screen() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    asker(&home, "other");
    let core = window(&home).await;
    call(&core, "settings.change", json!({ "pausedUntil": "2999-01-01T00:00:00.000Z" })).await;
    let seen = started(&home, "ask_roughly");
    let mut eyes = core.feed(watching(Some(&seen)).to_string()).await.expect("a feed");
    let _ = eyes.next().await.expect("a frame").expect("no error");
    let other = begun(&home, "other", "ask_roughly");
    assert_eq!(home.watch(&other), Some(6), "it asks too");
    call(&core, "settings.change", json!({ "pausedUntil": null })).await;
    let told = screen.until("a card", |fact| fact["call"] == "notify");
    assert_eq!(told["title"], "other needs an answer", "the pause is over; the other one is before the person's eyes");
    home.ok(&["tasks", "answer", &other, "--decline"]);
    screen.gone(&told);
    drop(eyes);
}

#[test]
fn without_a_notification_service_the_core_says_so_once_and_goes_on() {
    let screen = Screen::empty();
    let (home, _core) = screen.core();
    for _ in 0..2 {
        let id = started(&home, "ask_kindly");
        home.ok(&["tasks", "answer", &id, "--decline"]);
        home.watch(&id);
    }
    let logs = std::fs::read_dir(home.data().join("logs")).expect("the logs");
    let said: String = logs.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok()).collect();
    assert_eq!(said.matches("no notification service").count(), 1, "once: {said}");
}

/// Starts a call that asks, and waits until it does.
fn started(home: &Home, tool: &str) -> String {
    let id = begun(home, "asker", tool);
    assert_eq!(home.watch(&id), Some(6), "it asks");
    id
}

fn begun(home: &Home, server: &str, tool: &str) -> String {
    home.ok(&["call", server, tool, "--args", "{}"]).out.trim().to_owned()
}
