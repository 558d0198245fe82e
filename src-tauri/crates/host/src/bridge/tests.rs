//! What a bridge carries when a core dies, and over pipes that are full.

use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, duplex, simplex};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

use super::*;

const ANSWERS: usize = 200;

fn message(id: usize, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},{rest}}}"#)
}

#[tokio::test(start_paused = true)]
async fn answers_of_a_core_that_died_reach_a_client_that_reads_slowly() {
    let policy = Policy::default();
    let requests = Mutex::new(ForwardedRequests::new(&policy.hosting.doorway));
    let (input, mut types) = simplex(1 << 20);
    // The client's pipe holds a part of one answer.
    let (reads, writes) = simplex(64);
    let mut client = Client::new(StdioLines::new(input, policy.message_cap_bytes), writes);
    let (near, core) = duplex(1 << 20);
    let dies = async {
        let mut core = BufReader::new(core);
        for id in 0..ANSWERS {
            types.write_all(format!("{}\n", message(id, r#""method":"ping""#)).as_bytes()).await.expect("asked");
            core.read_line(&mut String::new()).await.expect("it comes to the core");
        }
        for id in 0..ANSWERS {
            core.write_all(format!("{}\n", message(id, r#""result":{}"#)).as_bytes()).await.expect("answered");
        }
        drop(core);
        // One more request, which this core can no longer take.
        types.write_all(format!("{}\n", message(ANSWERS, r#""method":"ping""#)).as_bytes()).await.expect("asked");
        types
    };
    let slowly = async {
        let mut lines = BufReader::new(reads).lines();
        for id in 0..ANSWERS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await;
            let line = line.expect("it comes").expect("readable");
            assert_eq!(line, Some(message(id, r#""result":{}"#)), "none is missing");
        }
    };
    let (over, (), _types) = tokio::join!(carry(near, &requests, &mut client, &policy), slowly, dies);
    assert_eq!(over, EndedSide::Core, "the client is still there");
    assert!(requests.lock().is_waiting(), "the last request is for the next core");
}

/// Limit for what takes milliseconds: it passes only when something hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// More than a pipe or the buffers of a socket hold.
const FULL: usize = 4 << 20;

fn call(id: usize, bytes: usize) -> String {
    let padding = "x".repeat(bytes);
    message(id, &format!(r#""method":"tools/call","params":{{"name":"{padding}"}}"#))
}

fn answer(id: usize, bytes: usize) -> String {
    let padding = "x".repeat(bytes);
    message(id, &format!(r#""result":{{"text":"{padding}"}}"#))
}

async fn write_line(to: &mut (impl AsyncWrite + Unpin), line: &str) {
    to.write_all(
        format!(
            "{line}
"
        )
        .as_bytes(),
    )
    .await
    .expect("written");
}

/// A bridge's client over real pipes: the bridge's side, and the client's ends to read and to write.
type ClientPipes = (Client<pipe::Receiver, pipe::Sender>, BufReader<pipe::Receiver>, pipe::Sender);

fn client_over_pipes(policy: &Policy) -> ClientPipes {
    let (types, input) = pipe::pipe().expect("a pipe");
    let (output, reads) = pipe::pipe().expect("a pipe");
    let client = Client::new(StdioLines::new(input, policy.message_cap_bytes), output);
    (client, BufReader::new(reads), types)
}

#[tokio::test]
async fn a_core_that_answers_one_request_before_it_reads_the_next_gets_all_that_are_sent_again() {
    const CALLS: usize = 64;
    let policy = Policy::default();
    let requests = Mutex::new(ForwardedRequests::new(&policy.hosting.doorway));
    for id in 0..CALLS {
        requests.lock().note_client_line(call(id, FULL / CALLS).as_bytes());
    }
    let (mut client, mut reads, types) = client_over_pipes(&policy);
    let (near, core) = UnixStream::pair().expect("a socket");
    let core = async {
        let (from, mut to) = tokio::io::split(core);
        let mut lines = BufReader::new(from).lines();
        for id in 0..CALLS {
            let line = lines.next_line().await.expect("readable").expect("it is sent again");
            let begins = message(id, r#""method":"tools/call""#);
            assert!(line.starts_with(begins.trim_end_matches('}')), "in order");
            write_line(&mut to, &answer(id, FULL / CALLS)).await;
        }
    };
    let reading = async {
        for id in 0..CALLS {
            let mut line = String::new();
            reads.read_line(&mut line).await.expect("readable");
            assert_eq!(line.trim_end(), answer(id, FULL / CALLS), "its answer comes");
        }
        drop(types);
    };
    let carried = async { tokio::join!(carry(near, &requests, &mut client, &policy), core, reading) };
    tokio::time::timeout(LIMIT, carried).await.expect("nobody waits for ever");
    assert!(!requests.lock().is_waiting(), "all are answered");
}

#[tokio::test]
async fn a_client_that_writes_all_its_requests_before_it_reads_does_not_wait_for_its_bridge() {
    const LOST: usize = 4_000;
    const CALLS: usize = 64;
    let mut policy = Policy::default();
    // Nothing is kept, so that each earlier request is answered with an error: more than a pipe holds.
    policy.hosting.doorway.bridge_requests_max = 0;
    let requests = Mutex::new(ForwardedRequests::new(&policy.hosting.doorway));
    for id in 0..LOST {
        requests.lock().note_client_line(call(id, 1).as_bytes());
    }
    let (mut client, mut reads, mut types) = client_over_pipes(&policy);
    let (near, core) = UnixStream::pair().expect("a socket");
    let core = async {
        let (from, mut to) = tokio::io::split(core);
        let mut lines = BufReader::new(from).lines();
        for id in LOST..LOST + CALLS {
            lines.next_line().await.expect("readable").expect("it comes");
            write_line(&mut to, &answer(id, 1)).await;
        }
        // Until the bridge goes.
        assert_eq!(lines.next_line().await.expect("readable"), None);
    };
    let client_program = async {
        for id in LOST..LOST + CALLS {
            write_line(&mut types, &call(id, FULL / CALLS)).await;
        }
        for id in 0..LOST + CALLS {
            let mut line = String::new();
            reads.read_line(&mut line).await.expect("readable");
            let begins = format!(r#"{{"jsonrpc":"2.0","id":{id},"#);
            assert!(line.starts_with(&begins), "every request has its answer, in order: {line}");
        }
        drop(types);
    };
    let carried = async { tokio::join!(carry(near, &requests, &mut client, &policy), core, client_program) };
    let (over, (), ()) = tokio::time::timeout(LIMIT, carried).await.expect("nobody waits for ever");
    assert_eq!(over, EndedSide::Client);
}
