//! Calls with a reply that cannot be read, over the death of their core: they are lost once, and ask nothing afterwards.

use std::pin::Pin;
use std::sync::Arc;

use domain::ids::{ConnectionId, HandleId};
use domain::policy::Policy;
use domain::ports::{Abilities, CallError, Upstream, UpstreamError, UpstreamEvent, UpstreamSubject};
use futures::{Stream, StreamExt};
use testkit::clock::TestClock;
use tokio::time::timeout;

use super::kept_child::{another_core, kept, open_in};
use super::peer::{Bench, LIMIT, NOT_FOUND, legacy, quick, until_written};
use crate::upstream::connection::{Connection, ConnectionParts};
use crate::upstream::port::McpUpstream;
use crate::upstream::tests::{aside, call};
use crate::upstream::transport::OpenContext;
use crate::upstream::transport::link::McpLink;

/// Answers the first call with more than is read once the test says so, and asks a question during the second.
const TOO_LONG_THEN_ASKS: &str = r#"read -r line; echo "$line" >> "$DIR/in"
while [ ! -e "$DIR/go" ]; do sleep 0.01; done
printf '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$(head -c 100000 /dev/zero | tr '\0' a)"
while read -r line; do
  echo "$line" >> "$DIR/in"
  case "$line" in
    *tools/call*) echo '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Go?","requestedSchema":{"type":"object","properties":{}}}}';;
  esac
done"#;

const LOST: u128 = 1;
const ASKING: u128 = 2;

/// When the first core dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dies {
    /// While the server works on the call.
    BeforeReply,
    /// The reply came, and nothing was recorded.
    BeforeRecord,
    /// The loss of the reply is on record.
    AfterRecord,
}

/// A core with an open connection to the child.
struct Core {
    ctx: OpenContext,
    link: Arc<dyn McpLink>,
    upstream: Arc<dyn Upstream>,
    events: Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>,
}

impl Core {
    async fn start(bench: &Bench, script: &str) -> Self {
        let ctx = another_core(bench);
        let opened = open_in(bench, &ctx, script).await.expect("opened");
        let link = Arc::clone(&opened.link);
        let parts = ConnectionParts {
            policy: Arc::clone(&ctx.policy),
            supervisor: ctx.supervisor.clone(),
            clock: Arc::new(TestClock::new()),
            abilities: Abilities::default(),
            log: None,
        };
        let (connection, _, events) = Connection::begin(ConnectionId::from_random(1), opened, false, parts);
        Self { ctx, link, upstream: Arc::new(McpUpstream::new(connection)), events }
    }

    /// As after kill -9: its tasks stop and its socket closes.
    async fn die(self) {
        let Self { ctx, link, upstream, events } = self;
        drop((link, upstream, events));
        assert!(ctx.supervisor.stop(LIMIT).await, "all tasks of the core end");
    }

    async fn question(&mut self) -> UpstreamSubject {
        loop {
            let event = timeout(LIMIT, self.events.next()).await.expect("in time").expect("the connection is open");
            if let UpstreamEvent::Question(subject, _) = event {
                return subject;
            }
        }
    }
}

fn is_unreadable(reply: Result<impl Sized, CallError>) -> bool {
    matches!(reply, Err(CallError::ReplyLost(UpstreamError::Unreadable { .. })))
}

async fn first_core(bench: &Bench, script: &str, dies: Dies) {
    let core = Core::start(bench, script).await;
    let upstream = Arc::clone(&core.upstream);
    let calling = aside(async move { upstream.call(call(LOST, "dig", "{}")).await });
    until_written(bench, "in", 4).await;
    if dies == Dies::BeforeReply {
        calling.abort();
        drop(calling.await);
    } else {
        std::fs::write(bench.dir.path().join("go"), "").expect("written");
        let lost = timeout(LIMIT, calling).await.expect("in time").expect("it ran");
        assert!(is_unreadable(lost), "the reply is too long to be read");
    }
    if dies == Dies::AfterRecord {
        core.upstream.taken(HandleId::from_random(LOST));
        // What is on record goes to the keeper with the next line.
        core.link.notify("notifications/x", None).await.expect("written");
    }
    core.die().await;
    std::fs::write(bench.dir.path().join("go"), "").expect("written");
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_lost_once_and_its_call_takes_no_question_of_another() {
    for dies in [Dies::BeforeReply, Dies::BeforeRecord, Dies::AfterRecord] {
        let bench = kept(Policy { message_cap_bytes: 65_536, ..quick() });
        let script = legacy(NOT_FOUND, TOO_LONG_THEN_ASKS);
        first_core(&bench, &script, dies).await;

        let mut core = Core::start(&bench, &script).await;
        let lost = HandleId::from_random(LOST);
        let expected = if dies == Dies::AfterRecord { Vec::new() } else { vec![lost] };
        assert_eq!(core.upstream.regained(), expected, "{dies:?}: what is on record is not waited for");
        for id in expected {
            let reply = timeout(LIMIT, core.upstream.rejoin(id)).await.expect("the reply comes again");
            assert!(is_unreadable(reply), "{dies:?}: and is lost again");
            core.upstream.taken(id);
        }
        core.upstream.watch(Vec::new());
        let upstream = Arc::clone(&core.upstream);
        let calling = aside(async move { upstream.call(call(ASKING, "dig", "{}")).await });
        let subject = core.question().await;
        assert_eq!(subject, UpstreamSubject::Call(HandleId::from_random(ASKING)), "{dies:?}: only this call can ask");
        core.link.notify("notifications/x", None).await.expect("written");
        calling.abort();
        core.die().await;

        let core = Core::start(&bench, &script).await;
        assert_eq!(core.upstream.regained(), [HandleId::from_random(ASKING)], "{dies:?}: the other is over for good");
        core.link.close(false).await;
    }
}
