//! Stories of the tray: what it says and offers after these frames.

use super::*;

const NOW: &str = "2026-11-21T10:00:00.000Z";

fn row(id: &str, kind: &str, opened: &str, more: &str) -> String {
    format!(
        r#"{{"id":"{id}","kind":"{kind}","task":null,"key":null,"server":"ci","tool":"deploy","agent":null,
        "message":null,"host":null,"openedAt":"{opened}","deadline":null,"snoozedUntil":null,"changedAt":"{opened}",
        "answeredBy":null,"destructive":false{more}}}"#
    )
}

fn snapshot(inbox: &[String], servers: &str, open: u64, moving: u64, paused: &str) -> String {
    format!(
        r#"{{"type":"snapshot","feed":"f","upto":1,"core":{{}},"views":[],"view":null,"task":null,"servers":[{servers}],
        "settings":{{"theme":"dark","globalShortcut":true,"autostart":false,"closeToTray":true,"pausedUntil":{paused}}},
        "totals":{{"byPhase":{{}},"byGroup":{{"needsYou":1,"moving":{moving},"noNews":0,"finished":3}},"all":9,"open":{open}}},
        "inbox":[{}]}}"#,
        inbox.join(",")
    )
}

fn delta(body: &str) -> String {
    let defaults = r#""servers":[],"goneServers":[],"totals":null,"inbox":[],"goneInbox":[],"settings":null"#;
    let body = if body.is_empty() { defaults.to_owned() } else { body.to_owned() };
    format!(
        r#"{{"type":"delta","after":1,"upto":2,"changes":1,"rows":[],"view":null,"task":null,"views":null,{body}}}"#
    )
}

fn server(name: &str, kind: &str, open: u64) -> String {
    format!(
        r#"{{"name":"{name}","id":"srv_1","address":{{"kind":"{kind}","url":"u","command":"c"}},"openTasks":{open}}}"#
    )
}

fn heard(frames: &[String]) -> Glance {
    let mut glance = Glance::default();
    for frame in frames {
        assert_eq!(glance.hear(frame), Heard::News, "{frame}");
    }
    glance
}

#[test]
fn the_face_and_the_counts_say_the_same() {
    let idle = heard(&[snapshot(&[], "", 0, 0, "null")]);
    assert_eq!((idle.face(NOW), idle.counts(NOW).as_str()), (Face::Idle, "Nothing running"));
    let working = heard(&[snapshot(&[], "", 8, 8, "null")]);
    assert_eq!((working.face(NOW), working.counts(NOW).as_str()), (Face::Working, "8 working"));
    let asked = heard(&[snapshot(&[row("a", "form", NOW, "")], "", 8, 7, "null")]);
    assert_eq!((asked.face(NOW), asked.counts(NOW).as_str()), (Face::NeedsYou, "1 needs you, 7 working"));
}

#[test]
fn the_menu_is_in_the_order_of_the_inbox_and_the_shortcut_takes_the_newest() {
    let rows = [
        row("old", "form", "2026-11-21T08:00:00.000Z", ""),
        row("new", "lost", "2026-11-21T09:00:00.000Z", ""),
        row("due", "url", "2026-11-21T08:30:00.000Z", "")
            .replace(r#""deadline":null"#, r#""deadline":"2026-11-21T10:05:00.000Z""#),
        row("later", "form", "2026-11-21T09:30:00.000Z", "")
            .replace(r#""snoozedUntil":null"#, r#""snoozedUntil":"2026-11-21T10:10:00.000Z""#),
        row("done", "form", "2026-11-21T09:40:00.000Z", "").replace(r#""answeredBy":null"#, r#""answeredBy":"ada""#),
    ];
    let glance = heard(&[snapshot(&rows, "", 5, 0, "null")]);
    let ids: Vec<String> = glance.lines(NOW, 5).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["due", "old", "new"], "a deadline first, then the oldest; what is snoozed or answered not at all");
    assert_eq!(glance.lines(NOW, 2).len(), 2, "no more than asked for");
    assert_eq!(glance.newest(NOW), Some("new"));
    assert_eq!(glance.newest("2026-11-21T10:11:00.000Z"), Some("later"), "the snooze is over");
}

#[test]
fn a_delta_replaces_adds_and_removes() {
    let change = delta(&format!(
        r#""servers":[{}],"goneServers":["b"],"totals":null,"inbox":[{}],"goneInbox":["a"],"settings":null"#,
        server("c", "http", 2),
        row("b", "form", NOW, "")
    ));
    let servers = format!("{},{}", server("a", "stdio", 0), server("b", "stdio", 3));
    let glance = heard(&[snapshot(&[row("a", "form", NOW, "")], &servers, 2, 1, "null"), change, delta("")]);
    assert_eq!(glance.newest(NOW), Some("b"), "a is gone, b came");
    assert_eq!(glance.servers.keys().collect::<Vec<_>>(), ["a", "c"]);
    assert!(glance.settings().is_some(), "what a delta does not name stays");
}

#[test]
fn text_of_a_server_stays_one_harmless_line() {
    let evil = row("a", "form", NOW, "").replace(
        r#""message":null"#,
        r#""message":"Delete\n\u0007 all?\u202e gnp.exe aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa""#,
    );
    let glance = heard(&[snapshot(&[evil], "", 1, 0, "null")]);
    let (_, line) = glance.lines(NOW, 1).remove(0);
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
        ("unconfirmed", "deploy is not confirmed · ci"),
        ("blocked", "Server needs you · ci"),
    ] {
        let glance = heard(&[snapshot(&[row("a", kind, NOW, "")], "", 1, 0, "null")]);
        assert_eq!(glance.lines(NOW, 1).remove(0).1, expected);
    }
}

#[test]
fn quitting_says_what_goes_on_and_what_ends() {
    let said = |servers: &str, open| heard(&[snapshot(&[], servers, open, 0, "null")]).farewell();
    assert_eq!(said("", 0), None, "nothing is lost, nothing is asked");
    assert_eq!(
        said(&server("a", "http", 8), 8).as_deref(),
        Some("8 tasks keep running on their servers. Supervision stops until you reopen Taskwarden.")
    );
    let both = said(&format!("{},{}", server("a", "http", 1), server("b", "stdio", 1)), 2).unwrap();
    assert_eq!(
        both,
        "1 task keeps running on its server. 1 task ends with Taskwarden, which runs its server. \
         Supervision stops until you reopen Taskwarden."
    );
}

#[test]
fn a_pause_ends_by_itself() {
    let glance = heard(&[snapshot(&[], "", 0, 0, r#""2026-11-21T10:30:00.000Z""#)]);
    assert!(glance.is_paused(NOW), "half an hour is left");
    assert!(!glance.is_paused("2026-11-21T10:30:00.000Z"), "over");
}

#[test]
fn what_cannot_be_read_asks_for_a_new_feed() {
    let mut glance = Glance::default();
    assert_eq!(glance.hear(r#"{"type":"resync","why":"behind"}"#), Heard::Resubscribe);
    assert_eq!(glance.hear("not json"), Heard::Resubscribe);
}
