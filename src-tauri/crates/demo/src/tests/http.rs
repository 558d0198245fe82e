//! Both eras over HTTP: statuses, headers, sessions, streams.

use serde_json::{Value, json};

use super::peer::{LIMIT, Site, Stream, body, declaring, modern, quick, text};

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn faults_have_the_status_that_goes_with_them() {
    let site = Site::start(quick()).await;
    let mut old = modern(json!({}));
    old["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2020-01-01".into();
    for (method, params, status, code) in [
        ("server/discover", modern(json!({})), 200, None),
        ("server/discover", json!({}), 400, Some(-32_602)),
        ("server/discover", old, 400, Some(-32_022)),
        ("no/such", modern(json!({})), 404, Some(-32_601)),
        ("tasks/list", modern(json!({})), 404, Some(-32_601)),
        ("tasks/get", declaring(json!({"taskId": "x"}), json!({})), 400, Some(-32_021)),
        ("tasks/get", modern(json!({"taskId": "x"})), 200, Some(-32_602)),
    ] {
        let (told, answer) = site.call(method, params.clone()).await;
        assert_eq!(told, status, "`{method}` {params}: {answer}");
        assert_eq!(answer["error"]["code"].as_i64(), code, "`{method}` {params}: {answer}");
        assert_eq!(answer["id"], 1, "the request is named");
    }
}

#[tokio::test]
async fn mirrored_headers_must_say_what_the_body_says() {
    let site = Site::start(quick()).await;
    let call = request(1, "tools/call", modern(json!({"name": "tool_error"})));
    let get = request(1, "tasks/get", modern(json!({"taskId": "grüße"})));
    let list = request(1, "tools/list", modern(json!({})));
    for (why, message, headers, code) in [
        (
            "all there",
            &call,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "tool_error")],
            None,
        ),
        ("no version", &list, vec![("mcp-method", "tools/list")], Some(-32_020)),
        (
            "another version",
            &list,
            vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
            Some(-32_020),
        ),
        ("no method", &list, vec![("mcp-protocol-version", "2026-07-28")], Some(-32_020)),
        (
            "another method",
            &list,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")],
            Some(-32_020),
        ),
        ("no name", &call, vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call")], Some(-32_020)),
        (
            "another name",
            &call,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "runaway")],
            Some(-32_020),
        ),
        (
            "no name of a task, which is tolerated",
            &get,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tasks/get")],
            Some(-32_602),
        ),
        (
            "a wrong name of a task",
            &get,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tasks/get"), ("mcp-name", "x")],
            Some(-32_020),
        ),
        (
            "an encoded name",
            &get,
            vec![
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tasks/get"),
                ("mcp-name", "=?base64?Z3LDvMOfZQ==?="),
            ],
            Some(-32_602),
        ),
        (
            "a name that is encoded badly",
            &get,
            vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tasks/get"), ("mcp-name", "=?base64?###?=")],
            Some(-32_020),
        ),
    ] {
        let mut post = site.http.post(&site.url).header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            post = post.header(name, value);
        }
        let response =
            post.header("content-type", "application/json").body(message.to_string()).send().await.expect("an answer");
        let status = response.status().as_u16();
        let answer = body(response).await.pop().expect("an answer");
        assert_eq!(answer["error"]["code"].as_i64(), code, "{why}: {answer}");
        assert_eq!(status == 400, code == Some(-32_020), "{why}: {status}");
    }
}

#[tokio::test]
async fn strangers_stay_outside() {
    let mut policy = quick();
    policy.serving.body_cap_bytes = 10_000;
    let site = Site::start(policy).await;
    let list = request(1, "tools/list", modern(json!({})));
    let port = site.url.trim_end_matches("/mcp").rsplit(':').next().expect("a port").to_owned();
    let own = format!("http://127.0.0.1:{port}");
    for (name, value, status) in [
        ("host", "evil.example", 403),
        ("host", "127.0.0.1:1", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "null", 403),
        ("origin", "http://localhost:1", 403),
        ("origin", own.as_str(), 200),
        ("accept", "text/html", 406),
        ("accept", "application/json", 406),
        ("accept", "*/*", 200),
        ("content-type", "text/plain", 415),
    ] {
        let mut post = site.post(&list).build().expect("a request");
        post.headers_mut().insert(name, value.parse().expect("a header"));
        let response = site.http.execute(post).await.expect("an answer");
        assert_eq!(response.status().as_u16(), status, "{name}: {value}");
        assert!(response.headers().get("access-control-allow-origin").is_none(), "no page of another origin may read");
    }
    let large = request(1, "tools/list", modern(json!({"x": "y".repeat(20_000)})));
    assert_eq!(site.post(&large).send().await.expect("an answer").status().as_u16(), 413);
    for method in [reqwest::Method::GET, reqwest::Method::DELETE, reqwest::Method::PUT] {
        let response = site
            .http
            .request(method.clone(), &site.url)
            .header("accept", "text/event-stream")
            .send()
            .await
            .expect("an answer");
        assert_eq!(response.status().as_u16(), 405, "{method} without a session");
    }
    for broken in ["", "{", "[]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"] {
        let response = site
            .http
            .post(&site.url)
            .header("content-type", "application/json")
            .body(broken)
            .send()
            .await
            .expect("an answer");
        assert_eq!(response.status().as_u16(), 400, "`{broken}`");
    }
}

#[tokio::test]
async fn other_machines_cannot_be_served() {
    let refused = crate::serve_http(super::peer::parts(quick()), ([0, 0, 0, 0], 0).into(), |_| {}).await;
    assert!(matches!(refused, Err(crate::DemoError::Http(mcp::server::ServeHttpError::NotLoopback(_)))), "{refused:?}");
}

#[tokio::test]
async fn a_held_call_streams_progress_and_ends_with_its_answer() {
    let site = Site::start(quick()).await;
    let mut params = declaring(json!({"name": "stubborn", "arguments": {"seconds": 4}}), json!({}));
    params["_meta"]["progressToken"] = 5.into();
    let response = site.post(&request(9, "tools/call", params)).send().await.expect("an answer");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let messages = body(response).await;
    let (answer, news) = messages.split_last().expect("messages");
    assert_eq!(answer["id"], 9, "the answer comes last");
    assert!(!news.is_empty() && news.iter().all(|told| told["params"]["progressToken"] == 5), "{news:?}");
}

#[tokio::test]
async fn a_long_silence_is_filled_with_comments() {
    let mut policy = quick();
    policy.serving.keep_alive = std::time::Duration::from_millis(30);
    let site = Site::start(policy).await;
    let params = declaring(json!({"name": "stubborn", "arguments": {"seconds": 4}}), json!({}));
    let response = site.post(&request(9, "tools/call", params)).send().await.expect("an answer");
    let text = response.text().await.expect("a stream");
    assert!(text.starts_with(":\n\n:\n\n"), "comments, then the answer: {text}");
    assert!(text.contains("\"id\":9"));
}

#[tokio::test]
async fn closing_the_stream_of_a_modern_call_stops_its_work() {
    let site = Site::start(quick()).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.jpg"), "x").expect("a file");
    // The page of `sign_in` exists as long as its work does.
    let mut params =
        declaring(json!({"name": "index_folder", "arguments": {"path": folder.path(), "pause_ms": 10_000}}), json!({}));
    params["_meta"]["progressToken"] = 1.into();
    let response = site.post(&request(1, "tools/call", params)).send().await.expect("an answer");
    let mut stream = Stream::of(response);
    stream.until(|message| message["method"] == "notifications/progress").await;
    drop(stream);
    // Stopping waits for all work: it is quick only if the call was dropped, not paused for ten seconds.
    let begun = tokio::time::Instant::now();
    site.supervisor.stop(LIMIT).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(8), "the work was dropped");
}

#[tokio::test]
async fn a_subscription_pushes_over_http() {
    let site = Site::start(quick()).await;
    let (_, created) = site.call("tools/call", modern(json!({"name": "stubborn", "arguments": {"seconds": 5}}))).await;
    let id = created["result"]["taskId"].clone();
    let listen = request(42, "subscriptions/listen", modern(json!({"notifications": {"taskIds": [id]}})));
    let mut stream = Stream::of(site.post(&listen).send().await.expect("an answer"));
    let ack = stream.next().await.expect("an acknowledgement");
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged", "first: {ack}");
    assert_eq!(ack["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 42, "a number stays a number");
    let end = stream.until(|message| message["params"]["status"] == "completed").await;
    assert_eq!((&end["method"], &end["params"]["taskId"]), (&json!("notifications/tasks"), &id));
}

/// An older client with its session.
struct Old<'a> {
    site: &'a Site,
    session: String,
}

impl<'a> Old<'a> {
    async fn open(site: &'a Site, version: &str) -> Old<'a> {
        let hello = json!({"protocolVersion": version, "capabilities": {"elicitation": {"form": {}, "url": {}}},
                           "clientInfo": {"name": "old", "version": "1"}});
        let response = site.post(&request(0, "initialize", hello)).send().await.expect("an answer");
        let session = response.headers()["mcp-session-id"].to_str().expect("text").to_owned();
        let old = Old { site, session };
        let done = old.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).send().await;
        assert_eq!(done.expect("an answer").status().as_u16(), 202);
        old
    }

    fn post(&self, message: &Value) -> reqwest::RequestBuilder {
        self.site.post(message).header("mcp-session-id", &self.session).header("mcp-protocol-version", "2025-11-25")
    }

    async fn call(&self, id: u64, method: &str, params: Value) -> Value {
        let response = self.post(&request(id, method, params)).send().await.expect("an answer");
        body(response).await.pop().expect("an answer")
    }

    async fn task(&self, tool: &str, arguments: Value) -> String {
        let created = self.call(1, "tools/call", json!({"name": tool, "arguments": arguments, "task": {}})).await;
        created["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("a handle: {created}")).to_owned()
    }

    async fn standing(&self) -> Stream {
        let get = self.site.http.get(&self.site.url).header("accept", "text/event-stream");
        Stream::of(get.header("mcp-session-id", &self.session).send().await.expect("a stream"))
    }
}

#[tokio::test]
async fn sessions_are_named_kept_and_ended() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-11-25").await;
    assert!(old.call(1, "tools/list", json!({})).await["result"]["tools"].is_array());
    let foreign = site.post(&request(1, "tools/list", json!({}))).header("mcp-session-id", "made-up").send().await;
    assert_eq!(foreign.expect("an answer").status().as_u16(), 404, "an unknown session");
    let version = old.post(&request(1, "tools/list", json!({}))).build().map(|mut post| {
        post.headers_mut().insert("mcp-protocol-version", "1999-01-01".parse().expect("a header"));
        post
    });
    let refused = site.http.execute(version.expect("a request")).await.expect("an answer");
    assert_eq!(refused.status().as_u16(), 400, "a version nobody serves");
    let end = || site.http.delete(&site.url).header("mcp-session-id", &old.session).send();
    assert_eq!(end().await.expect("an answer").status().as_u16(), 204);
    assert_eq!(end().await.expect("an answer").status().as_u16(), 404);
    let gone = old.post(&request(1, "tools/list", json!({}))).send().await.expect("an answer");
    assert_eq!(gone.status().as_u16(), 404, "the client must initialize again");
}

#[tokio::test]
async fn tasks_belong_to_their_session() {
    let site = Site::start(quick()).await;
    let (one, two) = (Old::open(&site, "2025-11-25").await, Old::open(&site, "2025-11-25").await);
    let id = one.task("runaway", json!({})).await;
    assert_eq!(one.call(2, "tasks/get", json!({"taskId": id})).await["result"]["status"], "working");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let refused = two.call(2, method, json!({"taskId": id})).await;
        assert_eq!(refused["error"]["code"], -32_602, "`{method}` from another session");
    }
    assert_eq!(two.call(3, "tasks/list", json!({})).await["result"]["tasks"], json!([]));
    let (_, modern) = site.call("tasks/get", modern(json!({"taskId": id}))).await;
    assert_eq!(modern["error"]["code"], -32_602, "from the modern era");
}

#[tokio::test]
async fn a_question_comes_on_the_result_stream() {
    let mut policy = quick();
    // Longer than the test may wait: however late the better stream comes, it is not too late.
    policy.serving.question_patience = 2 * LIMIT;
    let site = Site::start(policy).await;
    let old = Old::open(&site, "2025-11-25").await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    let mut standing = old.standing().await;
    let id = old.task("tidy_downloads", json!({"folder": folder.path()})).await;
    let wait = request(5, "tasks/result", json!({"taskId": id}));
    let mut stream = Stream::of(old.post(&wait).send().await.expect("a stream"));
    let asked = stream.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(asked["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], id);
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}});
    assert_eq!(old.post(&answer).send().await.expect("an answer").status().as_u16(), 202);
    let result = stream.until(|message| message["id"] == 5).await;
    assert_eq!(text(&result["result"]), "Nothing was touched: the person did not decide.");
    assert!(stream.next().await.is_none(), "the answer ends the stream");
    let mut twice = false;
    standing
        .until(|message| {
            twice |= message["method"] == "elicitation/create";
            message["params"]["status"] == "completed"
        })
        .await;
    assert!(!twice, "a question goes to one stream");
}

#[tokio::test]
async fn a_lost_result_stream_gives_the_question_to_the_next() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-11-25").await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    let id = old.task("tidy_downloads", json!({"folder": folder.path()})).await;
    let wait = |number| request(number, "tasks/result", json!({"taskId": id}));
    let mut first = Stream::of(old.post(&wait(5)).send().await.expect("a stream"));
    let asked = first.until(|message| message["method"] == "elicitation/create").await;
    drop(first);
    let mut second = Stream::of(old.post(&wait(6)).send().await.expect("a stream"));
    let again = second.until(|message| message["method"] == "elicitation/create").await;
    assert_eq!(again["params"], asked["params"], "the same question");
    assert_ne!(again["id"], asked["id"], "under a new id");
    let answer = json!({"jsonrpc": "2.0", "id": again["id"], "result": {"action": "decline"}});
    old.post(&answer).send().await.expect("an answer");
    let result = second.until(|message| message["id"] == 6).await;
    assert_eq!(text(&result["result"]), "Nothing was touched: the person declined.");
}

#[tokio::test]
async fn a_client_that_never_asks_for_the_result_is_asked_on_its_standing_stream() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-11-25").await;
    let mut standing = old.standing().await;
    let id = old.task("sign_in", json!({})).await;
    let asked = standing.until(|message| message["method"] == "elicitation/create").await;
    let url = asked["params"]["url"].as_str().expect("a link").to_owned();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}});
    old.post(&answer).send().await.expect("an answer");
    let waiting = standing
        .until(|message| message["params"]["statusMessage"] == "waiting for the button on the sign-in page")
        .await;
    assert_eq!(waiting["params"]["status"], "working", "consent is not completion");
    site.http.post(&url).send().await.expect("the page");
    let done = standing.until(|message| message["method"] == "notifications/elicitation/complete").await;
    assert_eq!(done["params"]["elicitationId"], asked["params"]["elicitationId"]);
    let result = old.call(7, "tasks/result", json!({"taskId": id})).await;
    assert!(text(&result["result"]).starts_with("Signed in"), "{result}");
}

#[tokio::test]
async fn the_sign_in_page_waits_for_its_button_and_ends_with_its_task() {
    let site = Site::start(quick()).await;
    let (_, created) = site.call("tools/call", modern(json!({"name": "sign_in"}))).await;
    let id = created["result"]["taskId"].clone();
    let look = async || site.call("tasks/get", modern(json!({"taskId": id}))).await.1["result"].clone();
    let begun = tokio::time::Instant::now();
    let question = loop {
        let task = look().await;
        if task["status"] == "input_required" {
            break task["inputRequests"]["question-1"].clone();
        }
        assert!(begun.elapsed() < LIMIT, "it asks: {task}");
    };
    assert_eq!(question["params"]["mode"], "url");
    assert!(question["params"].get("elicitationId").is_none(), "gone in this era");
    let url = question["params"]["url"].as_str().expect("a link").to_owned();

    let page = site.http.get(&url).send().await.expect("the page");
    assert_eq!(page.status().as_u16(), 200);
    assert!(page.headers()["content-security-policy"].to_str().expect("text").starts_with("default-src 'none'"));
    assert!(page.text().await.expect("text").contains("<button"));
    assert_eq!(look().await["status"], "input_required", "looking at the page does nothing");
    let wrong = format!("{}x", url);
    assert_eq!(site.http.post(&wrong).send().await.expect("an answer").status().as_u16(), 404, "another path");
    let rebound = site.http.post(&url).header("host", "evil.example").send().await.expect("an answer");
    assert_eq!(rebound.status().as_u16(), 404, "another name");

    let yes = modern(json!({"taskId": id, "inputResponses": {"question-1": {"action": "accept"}}}));
    site.call("tasks/update", yes).await;
    assert_eq!(look().await["status"], "working", "consent is not completion");
    let pressed = site.http.post(&url).send().await.expect("the page");
    assert!(pressed.text().await.expect("text").contains("Signed in"));
    let begun = tokio::time::Instant::now();
    while look().await["status"] != "completed" {
        assert!(begun.elapsed() < LIMIT, "the button completes it");
    }
    let begun = tokio::time::Instant::now();
    while site.http.get(&url).send().await.is_ok_and(|page| page.status().is_success()) {
        assert!(begun.elapsed() < LIMIT, "the page is gone with the task");
    }
}

#[tokio::test]
async fn a_declined_sign_in_ends_truthfully() {
    let site = Site::start(quick()).await;
    let (_, created) = site.call("tools/call", modern(json!({"name": "sign_in"}))).await;
    let id = created["result"]["taskId"].clone();
    let begun = tokio::time::Instant::now();
    loop {
        let no = modern(json!({"taskId": id, "inputResponses": {"question-1": {"action": "decline"}}}));
        site.call("tasks/update", no).await;
        let (_, task) = site.call("tasks/get", modern(json!({"taskId": id}))).await;
        if task["result"]["status"] == "completed" {
            assert_eq!(text(&task["result"]["result"]), "Nobody signed in: the person declined.");
            return;
        }
        assert!(begun.elapsed() < LIMIT, "it ends: {task}");
    }
}

#[tokio::test]
async fn older_blocking_calls_are_cancelled_by_notification_only() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-06-18").await;
    let call = json!({"name": "stubborn", "arguments": {"seconds": 3_000}, "_meta": {"progressToken": "p"}});
    let response = old.post(&request(3, "tools/call", call)).send().await.expect("a stream");
    let mut stream = Stream::of(response);
    stream.until(|message| message["method"] == "notifications/progress").await;
    let same = old.call(3, "ping", json!({})).await;
    assert_eq!(same["error"]["code"], -32_600, "its id is in work");
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    old.post(&cancel).send().await.expect("an answer");
    while let Some(message) = stream.next().await {
        assert_ne!(message["id"], 3, "a cancelled request is not answered");
    }
    assert_eq!(old.call(3, "ping", json!({})).await["result"], json!({}), "the id is free again");
}

#[tokio::test]
async fn batches_of_old_http_clients_are_answered_in_one_response() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-03-26").await;
    let batch = json!([request(1, "ping", json!({})), request(2, "tools/list", json!({}))]);
    let response = old.post(&batch).send().await.expect("an answer");
    let mut ids: Vec<u64> = body(response).await.iter().filter_map(|message| message["id"].as_u64()).collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
}

#[tokio::test]
async fn sessions_are_bounded_and_busy_ones_are_kept() {
    let mut policy = quick();
    policy.serving.sessions_max = 2;
    let site = Site::start(policy).await;
    let busy = Old::open(&site, "2025-11-25").await;
    busy.task("runaway", json!({})).await;
    let idle = Old::open(&site, "2025-11-25").await;
    let third = Old::open(&site, "2025-11-25").await;
    assert_eq!(busy.call(2, "ping", json!({})).await["result"], json!({}), "its task keeps it");
    assert_eq!(third.call(2, "ping", json!({})).await["result"], json!({}));
    let gone = idle.post(&request(2, "ping", json!({}))).send().await.expect("an answer");
    assert_eq!(gone.status().as_u16(), 404, "the idle one made room");
}

#[tokio::test]
async fn a_newer_standing_stream_takes_over_from_the_older() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-11-25").await;
    let mut first = old.standing().await;
    let mut second = old.standing().await;
    assert!(first.next().await.is_none(), "the older one ended");
    let id = old.task("stubborn", json!({"seconds": 1})).await;
    let told = second.until(|message| message["params"]["status"] == "completed").await;
    assert_eq!(told["params"]["taskId"], id);
}

#[tokio::test]
async fn the_site_ends_with_its_supervisor_even_with_open_streams() {
    let site = Site::start(quick()).await;
    let old = Old::open(&site, "2025-11-25").await;
    let mut standing = old.standing().await;
    let begun = tokio::time::Instant::now();
    assert!(site.supervisor.stop(LIMIT).await, "everything ends");
    assert!(begun.elapsed() < LIMIT, "in time");
    while standing.next().await.is_some() {}
}
