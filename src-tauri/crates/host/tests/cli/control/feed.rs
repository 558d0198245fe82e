//! The feed of a control token over plain TCP: what it tells, how it goes on after a break, and when it ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Supervised, add};
use crate::home::{PATIENCE, until};

/// An open feed.
struct Feed {
    reader: BufReader<TcpStream>,
    status: u16,
    head: String,
    /// The last id that came, also alone.
    place: String,
}

impl Feed {
    fn open(core: &Supervised, headers: &str) -> Self {
        Self::with(core, &core.token, headers)
    }

    fn with(core: &Supervised, token: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", core.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let request = format!(
            "GET /api/v1/feed HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             {headers}\r\n",
            core.port
        );
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut feed = Self { reader: BufReader::new(stream), status: 0, head: String::new(), place: String::new() };
        while let Some(line) = feed.line().filter(|line| !line.is_empty()) {
            feed.head += &(line.to_lowercase() + "\n");
        }
        feed.status = feed.head.get(9..12).and_then(|digits| digits.parse().ok()).unwrap_or_default();
        feed
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line).expect("the feed says something in time");
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event with its data; `None` when the feed has ended. Sizes of chunks and comments are passed over.
    fn event(&mut self) -> Option<(String, Value)> {
        let (mut name, begun) = (String::new(), Instant::now());
        loop {
            assert!(begun.elapsed() < PATIENCE, "an event comes in time");
            let line = self.line()?;
            if let Some(place) = line.strip_prefix("id: ") {
                place.clone_into(&mut self.place);
            } else if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).expect("data is JSON")));
            }
        }
    }

    /// Reads until an event is as wanted, and gives the events before it.
    fn until(&mut self, what: &str, is_meant: impl Fn(&str, &Value) -> bool) -> Vec<(String, Value)> {
        let mut before = Vec::new();
        loop {
            let (name, data) = self.event().unwrap_or_else(|| panic!("the feed ended before {what}: {before:?}"));
            if is_meant(&name, &data) {
                return before;
            }
            before.push((name, data));
        }
    }

    fn begin(&mut self) {
        let first = self.event().expect("a first event");
        assert_eq!(first, ("readAgain".to_owned(), json!({"why": "the feed begins here"})));
    }
}

fn tells_of(id: &str, over: bool) -> impl Fn(&str, &Value) -> bool {
    move |name, data| {
        let tasks = data["tasks"].as_array().cloned().unwrap_or_default();
        name == "changed" && tasks.iter().any(|task| task["id"] == id && task["over"] == over)
    }
}

#[test]
fn a_program_is_told_to_look_again_at_what_is_in_its_reach_and_of_nothing_else() {
    let core = Supervised::open(&["--scope", "read,cancel", "--all"]);
    core.home.ok(&["agents", "add", "order-bot"]);
    let of_bot = add(&core.home, "bot-watch", &["--scope", "read,pause,halt", "--agent", "order-bot"]);
    let (mut all, mut narrow) = (Feed::open(&core, ""), Feed::with(&core, &of_bot, ""));
    assert!(all.status == 200 && all.head.contains("text/event-stream"), "{}", all.head);
    all.begin();
    narrow.begin();
    let task = core.home.call_taken("runaway", "{}");
    all.until("the task begins", tells_of(&task, false));
    core.call("tasks.cancel", &json!({"ids": [task]}));
    let told = all.until("the task ends", tells_of(&task, true));
    for (_, data) in &told {
        for one in data["tasks"].as_array().expect("tasks") {
            let fields: Vec<&String> = one.as_object().expect("a task").keys().collect();
            assert_eq!(fields, ["id", "phase", "over"], "ids and phases, no content: {one}");
        }
    }

    core.home.ok(&["pause", "order-bot"]);
    core.home.ok(&["unpause", "order-bot"]);
    core.home.ok(&["halt", "--reason", "stop", "--agent", "order-bot", "--yes"]);
    let bot = Supervised { token: of_bot, ..core };
    assert_eq!(bot.call("pauses.start", &json!({"agent": "order-bot"})).status, 200);
    let before = narrow.until("its pause", |_, data| data["pauses"] == true);
    assert!(before.is_empty(), "the task, the pause and the halt of a person are out of its reach: {before:?}");
    bot.home.ok(&["unpause", "order-bot"]);
    narrow.until("the end of its pause", |_, data| data["pauses"] == true);
    assert_eq!(bot.call("halts.start", &json!({"reason": "stop", "agents": ["order-bot"]})).status, 200);
    narrow.until("its part of the halt", |_, data| data["halt"] == true && data["tasks"] == json!([]));
    bot.home.ok(&["resume", "acknowledged", "--with-open"]);
    narrow.until("a stage of the way back", |_, data| data["halt"] == true);
}

#[test]
fn a_program_that_was_away_goes_on_where_it_was_or_reads_everything_again() {
    let core = Supervised::open(&["--scope", "read,pause", "--all"]);
    core.home.ok(&["agents", "add", "order-bot"]);
    let mut feed = Feed::open(&core, "");
    feed.begin();
    let first = core.home.call_taken("runaway", "{}");
    feed.until("the first task", tells_of(&first, false));
    let place = std::mem::take(&mut feed.place);
    drop(feed);
    let missed = core.home.call_taken("runaway", "{}");
    assert_eq!(core.call("pauses.start", &json!({"agent": "order-bot"})).status, 200);
    core.home.ok(&["unpause", "order-bot"]);

    let mut again = Feed::open(&core, &format!("Last-Event-ID: {place}\r\n"));
    let mut told = Vec::new();
    let has = |told: &[(String, Value)], is_meant: &dyn Fn(&str, &Value) -> bool| {
        told.iter().any(|(name, data)| is_meant(name, data))
    };
    // The pause that began and ended meanwhile is told as well, maybe together with the task.
    while !(has(&told, &tells_of(&missed, false)) && has(&told, &|_, data| data["pauses"] == true)) {
        told.push(again.event().expect("what was missed is told"));
    }
    assert!(told.iter().all(|(name, _)| name == "changed"), "nothing must be read again: {told:?}");
    // Where nothing happens, the place comes alone; where it comes from another core, it is none.
    let place: u64 = again.place.parse().expect("a number");
    let mut foreign = Feed::open(&core, &format!("Last-Event-ID: {}\r\n", place + 1_000_000));
    let (name, data) = foreign.event().expect("an event");
    assert!(name == "readAgain" && data["why"].to_string().contains("not one of this core"), "{name} {data}");
    assert!(
        foreign.place.parse::<u64>().expect("a number") < place + 1_000_000,
        "it goes on from a place of this core"
    );
    assert_eq!(Feed::open(&core, "Last-Event-ID: x\r\n").status, 400, "what is no place is refused");
}

#[test]
fn a_feed_ends_with_its_token_and_is_opened_only_as_often_as_it_may_be() {
    let core = Supervised::open(&["--scope", "read", "--all"]);
    let mut feeds: Vec<Feed> = (0..4).map(|_| Feed::open(&core, "")).collect();
    assert!(feeds.iter().all(|feed| feed.status == 200), "as many as one token may have");
    let fifth = Feed::open(&core, "");
    assert!(fifth.status == 429 && fifth.head.contains("retry-after: 3"), "{}", fifth.head);
    let limits = || core.home.run(&["doctor", "--json"]).out;
    assert!(limits().contains("feeds of control tokens, control token watch: 4 of 4"), "{}", limits());
    drop(feeds.pop());
    until("a closed feed makes room", || Feed::open(&core, "").status == 200);
    let page = Feed::open(&core, &format!("Origin: http://127.0.0.1:{}\r\n", core.port));
    assert_eq!(page.status, 403, "no page reads it: {}", page.head);
    let blind = add(&core.home, "blind", &["--scope", "cancel", "--all"]);
    assert_eq!(Feed::with(&core, &blind, "").status, 404, "the token may not read");

    let brief = add(&core.home, "brief", &["--scope", "read", "--all", "--until", "4s"]);
    let mut timed = Feed::with(&core, &brief, "");
    timed.begin();
    let (name, data) = timed.event().expect("a last event");
    assert!(name == "ended" && data["why"].to_string().contains("time of its control token is over"), "{name} {data}");
    assert_eq!(timed.event(), None, "nothing follows");

    core.home.ok(&["control", "revoke", "watch"]);
    for feed in &mut feeds {
        feed.begin();
        assert_eq!(feed.event(), Some(("ended".to_owned(), json!({"why": "its control token was revoked"}))));
        assert_eq!(feed.event(), None, "nothing follows");
    }
    assert_eq!(Feed::open(&core, "").status, 401, "and it is not opened again");
    core.core.signal(rustix::process::Signal::TERM);
}
