//! Stories of the tray: what it says and offers after these frames.

use api::dto::halt::HaltShown;
use api::dto::{InboxFigures, TaskFigures};
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-11-21T10:00:00.000Z";

fn row(id: &str, kind: &str, opened: &str) -> Value {
    json!({
        "id": id, "kind": kind, "task": null, "key": null, "server": "ci", "tool": "deploy", "agent": null,
        "message": null, "host": null, "openedAt": opened, "deadline": null, "snoozedUntil": null, "changedAt": opened,
        "answeredBy": null, "destructive": false, "tokens": null, "limit": null, "exactness": null,
    })
}

fn with(mut row: Value, key: &str, value: &str) -> InboxRow {
    row[key] = value.into();
    serde_json::from_value(row).unwrap()
}

fn plain_row(row: Value) -> InboxRow {
    serde_json::from_value(row).unwrap()
}

fn tray_state(inbox: Vec<InboxRow>, open: u64, working: u64) -> TrayState {
    let figures = TaskFigures { open, working, ..TaskFigures::default() };
    let items = inbox.len() as u64;
    let mut state = TrayState {
        settings: Some(SettingsDto::default()),
        totals: Totals { figures, inbox: InboxFigures { items, ..InboxFigures::default() }, ..Totals::default() },
        ..TrayState::default()
    };
    state.put(Vec::new(), inbox);
    state
}

fn apply(state: &mut TrayState, delta: FeedDelta) {
    let text = serde_json::to_string(&FeedFrame::Delta(Box::new(delta))).unwrap();
    assert_eq!(state.apply(&text), FrameEffect::Changed, "{text}");
}

#[test]
fn the_face_and_the_counts_say_the_same() {
    let idle = tray_state(Vec::new(), 0, 0);
    assert_eq!((idle.face(), idle.counts().as_str()), (TrayFace::Idle, "Nothing working"));
    let working = tray_state(Vec::new(), 8, 8);
    assert_eq!((working.face(), working.counts().as_str()), (TrayFace::Working, "8 working"));
    let asked = tray_state(vec![plain_row(row("a", "form", NOW))], 8, 7);
    assert_eq!((asked.face(), asked.counts().as_str()), (TrayFace::NeedsYou, "1 in the inbox, 7 working"));
}

#[test]
fn the_menu_is_in_the_order_of_the_inbox_and_the_shortcut_takes_the_newest() {
    let state = tray_state(
        vec![
            plain_row(row("old", "form", "2026-11-21T08:00:00.000Z")),
            plain_row(row("new", "lost", "2026-11-21T09:00:00.000Z")),
            with(row("due", "url", "2026-11-21T08:30:00.000Z"), "deadline", "2026-11-21T10:05:00.000Z"),
            with(row("later", "form", "2026-11-21T09:30:00.000Z"), "snoozedUntil", "2026-11-21T10:10:00.000Z"),
            with(row("done", "form", "2026-11-21T09:40:00.000Z"), "answeredBy", "ada"),
        ],
        5,
        0,
    );
    let ids: Vec<String> = state.lines(NOW, 5).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["due", "old", "new"], "a deadline first, then the oldest; what is snoozed or answered not at all");
    assert_eq!(state.lines(NOW, 2).len(), 2, "no more than asked for");
    assert_eq!(state.newest(NOW), Some("new"));
    assert_eq!(state.newest("2026-11-21T10:11:00.000Z"), Some("later"), "the snooze is over");
}

#[test]
fn a_delta_replaces_adds_and_removes() {
    let mut state = tray_state(vec![plain_row(row("a", "form", NOW))], 2, 1);
    let change = FeedDelta {
        inbox: vec![plain_row(row("b", "form", NOW))],
        gone_inbox: vec!["a".to_owned()],
        ..FeedDelta::default()
    };
    apply(&mut state, change);
    assert_eq!(state.newest(NOW), Some("b"), "a is gone, b came");
    apply(&mut state, FeedDelta::default());
    assert_eq!(state.counts(), "1 in the inbox, 1 working", "what a delta does not name stays");
    assert!(state.settings().is_some(), "the settings too");
}

#[test]
fn text_of_a_server_stays_one_harmless_line() {
    let evil = format!("Delete\n\u{7} all?\u{202e} gnp.exe {}", "a".repeat(400));
    let state = tray_state(vec![with(row("a", "form", NOW), "message", &evil)], 1, 0);
    let (_, line) = state.lines(NOW, 1).remove(0);
    assert!(line.starts_with("Delete all? gnp.exe aaa"), "controls and turning letters are gone: {line}");
    assert!(line.ends_with("… · ci, deploy"), "cut, and its source is named: {line}");
    assert!(line.chars().count() < 130, "short: {line}");
}

#[test]
fn items_without_words_of_a_server_get_ours() {
    for (kind, expected) in [
        ("form", "deploy asks · ci, deploy"),
        ("overdue", "deploy runs long · ci"),
        ("lost", "deploy was lost · ci"),
        ("held", "A result is held · ci, deploy"),
        ("overLimit", "deploy went past its limit of tokens · ci"),
        ("unconfirmed", "deploy is not confirmed · ci"),
        ("blocked", "A server needs you · ci, deploy"),
    ] {
        let state = tray_state(vec![plain_row(row("a", kind, NOW))], 1, 0);
        assert_eq!(state.lines(NOW, 1).remove(0).1, expected);
    }
}

#[test]
fn the_fullest_window_is_shown_once_people_are_told_of_it() {
    let family = json!({"id": "o200k", "label": "GPT o200k", "exactness": "exact", "errorPercent": 0});
    let program = json!({
        "id": "other", "label": "another program", "from": "nobody", "version": "", "shows": "both",
        "longResult": "whole", "resultTokens": null, "toolsPercent": 100, "toolsSearched": false, "holdsCut": false,
    });
    let budget = |agent: &str, tokens: u64| {
        json!({
            "agent": agent, "agentId": agent, "family": family, "windowTokens": 200_000, "windowFrom": "set",
            "model": null, "beside": [], "burnPerMinute": 0, "burnTooEarly": false, "program": program, "fullInMs": null, "coming": [], "limit": null,
            "now": {
                "id": "win_1", "beganAt": NOW, "lastAt": NOW, "endedAt": null, "tokens": tokens, "exactness": "exact",
                "passed": tokens, "passedExactness": "exact", "fullTimes": 0, "sources": [], "keptOut": 0, "keptOutExactness": "exact",
            },
        })
    };
    let heard = |budgets: Vec<Value>| {
        let list = json!({"budgets": budgets, "more": 0, "warnPercent": 80, "fullPercent": 95, "sliceTokens": 8_000});
        let mut state = tray_state(Vec::new(), 0, 0);
        apply(&mut state, FeedDelta { budgets: serde_json::from_value(list).unwrap(), ..FeedDelta::default() });
        state
    };
    assert_eq!(heard(vec![budget("calm", 159_999)]).gauge(), None, "79 % is nothing to say");
    let full = heard(vec![budget("calm", 160_000), budget("research-7", 164_000)]);
    assert_eq!(full.gauge().as_deref(), Some("research-7: 82 % of its window"));
    let mut full = full;
    apply(&mut full, FeedDelta::default());
    assert!(full.gauge().is_some(), "what a delta does not name stays");
}

#[test]
fn a_held_result_says_how_large_it_is() {
    let mut held = row("a", "held", NOW);
    held["tokens"] = 61_402.into();
    held["exactness"] = "exact".into();
    let (_, line) = tray_state(vec![plain_row(held)], 1, 0).lines(NOW, 1).remove(0);
    assert_eq!(line, "A result of 61,402 tokens is held · ci, deploy");
}

#[test]
fn a_pause_ends_by_itself() {
    let mut state = tray_state(Vec::new(), 0, 0);
    let paused_until = Some("2026-11-21T10:30:00.000Z".to_owned());
    apply(
        &mut state,
        FeedDelta { settings: Some(SettingsDto { paused_until, ..SettingsDto::default() }), ..FeedDelta::default() },
    );
    assert!(state.is_paused(NOW), "half an hour is left");
    assert!(!state.is_paused("2026-11-21T10:30:00.000Z"), "over");
}

#[test]
fn quitting_says_what_goes_on() {
    assert_eq!(tray_state(Vec::new(), 0, 0).quit_warning(), None, "nothing is lost, nothing is asked");
    assert_eq!(
        tray_state(Vec::new(), 8, 8).quit_warning().as_deref(),
        Some("8 tasks keep running on their servers. Supervision stops until you reopen Taskwarden.")
    );
}

#[test]
fn what_cannot_be_read_asks_for_a_new_feed() {
    let mut state = TrayState::default();
    assert_eq!(state.apply(r#"{"type":"resync","why":"behind"}"#), FrameEffect::Resubscribe);
    assert_eq!(state.apply("not json"), FrameEffect::Resubscribe);
}

#[test]
fn a_halt_is_told_until_it_is_over() {
    let mut state = tray_state(Vec::new(), 2, 2);
    let unreadable = HaltShown { halt: None, unreadable: Some("row 1".to_owned()) };
    apply(&mut state, FeedDelta { halt: Some(unreadable), ..FeedDelta::default() });
    assert_eq!((state.is_halted(), state.counts().as_str()), (true, "Work is halted. 2 working"));
    apply(&mut state, FeedDelta::default());
    assert!(state.is_halted(), "a frame that does not mention it changes nothing");
    apply(&mut state, FeedDelta { halt: Some(HaltShown::default()), ..FeedDelta::default() });
    assert_eq!((state.is_halted(), state.counts().as_str()), (false, "2 working"));
}
