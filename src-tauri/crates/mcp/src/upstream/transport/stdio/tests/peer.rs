//! Scripted children: shells that speak exact bytes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use domain::policy::Policy;
use domain::ports::{Closure, SendPermit};
use domain::server::Era;
use engine::runtime::supervisor::Supervisor;
use futures::StreamExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::upstream::transport::link::{Answer, InboundMessage, LinkError, OpenedLink, OutgoingRequest, RequestTag};
use crate::upstream::transport::stdio::{Launch, open};
use crate::upstream::transport::{OpenContext, OpenError};

pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// Times that only pass when something is wrong; tests of silence shorten them.
pub(crate) fn quick() -> Policy {
    Policy {
        probe_silence: Duration::from_secs(10),
        probe_first_output: Duration::from_secs(10),
        initialize_limit: Duration::from_secs(10),
        child_close_wait: Duration::from_secs(10),
        child_term_wait: Duration::from_secs(2),
        reply_limit: Duration::from_secs(10),
        ..Policy::default()
    }
}

pub(crate) struct Bench {
    pub(crate) dir: TempDir,
    pub(crate) ctx: OpenContext,
}

impl Bench {
    pub(crate) fn new(policy: Policy) -> Self {
        let dir = TempDir::new().expect("a folder for the test");
        let children = dir.path().join("children");
        let ctx = OpenContext::new(Arc::new(policy), Supervisor::new(), Arc::new(|| 42), children);
        Self { dir, ctx }
    }

    pub(crate) fn launch(&self, script: &str) -> Launch {
        Launch {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: BTreeMap::from([("DIR".into(), self.dir.path().display().to_string())]),
            secret_env: BTreeMap::new(),
            cwd: None,
        }
    }

    pub(crate) async fn open(&self, script: &str) -> Result<OpenedLink, OpenError> {
        self.open_known(script, None).await
    }

    pub(crate) async fn open_known(&self, script: &str, known: Option<Era>) -> Result<OpenedLink, OpenError> {
        timeout(LIMIT, open(self.launch(script), None, known, &self.ctx)).await.expect("opening ends in time")
    }

    pub(crate) fn written(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("we write JSON lines")).collect()
    }

    pub(crate) fn records(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("children")).map_or(0, Iterator::count)
    }
}

/// Answers `server/discover` with a modern greeting and goes on with `then`, having read `$line`.
pub(crate) fn modern(then: &str) -> String {
    format!(
        r#"read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}'
{then}"#
    )
}

/// Refuses the probe with `error`, answers `initialize`, takes `initialized`, and goes on with `then`.
pub(crate) fn legacy(error: &str, then: &str) -> String {
    format!(
        r#"read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":1,"error":{error}}}'
read -r line; echo "$line" >> "$DIR/in"
echo '{{"jsonrpc":"2.0","id":2,"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}'
read -r line; echo "$line" >> "$DIR/in"
{then}"#
    )
}

/// Ends at once; what was started away from its group says the last words when the end can be known already.
pub(crate) const SLOW_LAST_WORDS: &str = r#"read -r line
setsid sh -c ': > "$DIR/away"; sleep 0.3; echo my last words >&2' > /dev/null < /dev/null &
while [ ! -e "$DIR/away" ]; do sleep 0.01; done; exit 3"#;

pub(crate) const NOT_FOUND: &str = r#"{"code":-32601,"message":"Method not found"}"#;
pub(crate) const COPY: &str = r#"while read -r line; do echo "$line" >> "$DIR/in"; done"#;

pub(crate) fn ask(method: &'static str, tag: u64, limit: Option<Duration>) -> OutgoingRequest {
    OutgoingRequest {
        method: method.into(),
        params: json!({}),
        verbatim: Vec::new(),
        tag: RequestTag(tag),
        limit,
        param_headers: Vec::new(),
        agent_params: None,
        permit: SendPermit::default(),
    }
}

pub(crate) async fn closed(opened: &mut OpenedLink) -> Closure {
    timeout(LIMIT, async {
        loop {
            match opened.inbound.next().await {
                Some(InboundMessage::Closed(closure)) => return closure,
                Some(_) => {}
                None => panic!("`Closed` is always last"),
            }
        }
    })
    .await
    .expect("the link says that it is over")
}

pub(crate) fn text(answer: Result<Answer, LinkError>) -> String {
    match answer {
        Ok(Answer::Result(raw) | Answer::Error(raw)) => raw.get().to_owned(),
        Err(error) => panic!("an answer was expected: {error}"),
    }
}

/// Waits until a file has that many lines.
pub(crate) async fn until_written(bench: &Bench, name: &str, lines: usize) {
    let waited = timeout(LIMIT, async {
        while bench.written(name).len() < lines {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    assert!(waited.await.is_ok(), "only {:?} of {lines} lines came", bench.written(name));
}
