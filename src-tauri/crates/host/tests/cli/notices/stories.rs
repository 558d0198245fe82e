//! What a person sees on the desktop, and what the buttons do.

use serde_json::json;

use super::screen::Screen;

#[test]
fn a_question_comes_to_the_desktop_and_goes_when_it_is_answered_elsewhere() {
    let screen = Screen::new();
    let (home, _core) = screen.core();
    let id = started(&home, "ask_roughly");
    let card = screen.card("asker needs an answer");
    let body = card["body"].as_str().expect("a body");
    assert!(body.starts_with("ask_roughly is paused · since "), "which task, and since when: {body}");
    assert!(!body.contains("index"), "nothing of the question where it cannot be answered: {body}");
    assert_eq!(card["actions"], json!({ "later": "Not now" }), "a core without a window opens none");
    home.ok(&["tasks", "answer", &id, "--accept", r#"{"go":true}"#]);
    screen.gone(&card);
}

#[test]
fn a_plain_yes_or_no_is_answered_on_the_card() {
    let mut screen = Screen::new();
    let (home, _core) = screen.core();
    for (button, said) in [("yes", "true"), ("no", "false")] {
        let id = started(&home, "ask_kindly");
        let card = screen.card("asker needs an answer");
        let body = card["body"].as_str().expect("a body");
        assert!(body.starts_with("“Shall the ‹index› be rebuilt?” Go on: yes or no?"), "the whole question: {body}");
        assert_eq!(card["actions"], json!({ "yes": "Yes", "no": "No", "later": "Not now" }));
        screen.press(&card, button, || home.task(&id)["requests"][0]["state"] != "open");
        assert_eq!(home.watch(&id), Some(0), "the task goes on");
        let result = home.ok(&["tasks", "result", &id]).out;
        assert!(result.contains(&format!("\"go\": {said}")), "{button}: {result}");
    }
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
fn started(home: &crate::home::Home, tool: &str) -> String {
    let ran = home.ok(&["call", "asker", tool, "--args", "{}"]);
    let id = ran.out.trim().to_owned();
    assert_eq!(home.watch(&id), Some(6), "it asks");
    id
}
