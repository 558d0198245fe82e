//! Intents in their file: what kills, quick calls, other eyes and damage do to it.

use std::path::PathBuf;
use std::sync::Arc;

use domain::policy::Policy;
use domain::ports::CallIntents as _;
use registry::{CallIntentsOptions, SqliteCallIntents};
use sqlx::Connection as _;
use testkit::contract;

use super::{Home, key};

fn place(home: &Home) -> PathBuf {
    home.path().with_file_name("intents.sqlite")
}

async fn open(home: &Home, policy: &Policy) -> SqliteCallIntents {
    let path = place(home);
    let opening = CallIntentsOptions { path: &path, key: key(), policy };
    let spawn = |work| drop(tokio::runtime::Handle::current().spawn(work));
    SqliteCallIntents::open(opening, spawn).await.expect("the file of intents opens")
}

async fn rows(home: &Home) -> i64 {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(place(home));
    let mut connection = sqlx::SqliteConnection::connect_with(&options).await.expect("connects");
    sqlx::query_scalar("SELECT count(*) FROM intents").fetch_one(&mut connection).await.expect("counts")
}

#[tokio::test(flavor = "multi_thread")]
async fn intents_in_a_file_keep_the_contract_though_the_run_before_never_closed_it() {
    let home = Home::new();
    // The earlier runs stay open, as a killed process leaves its file: nothing is closed, folded in or synced.
    let first = open(&home, &Policy::default()).await;
    contract::call_intents::first_run(&first).await;
    let second = open(&home, &Policy::default()).await;
    contract::call_intents::second_run(&second).await;
    second.flushed().await;
    let third = open(&home, &Policy::default()).await;
    contract::call_intents::third_run(&third).await;
    assert_eq!(rows(&home).await, 0, "and the file is empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quick_call_is_never_written() {
    let home = Home::new();
    let mut policy = Policy::default();
    policy.gateway.intent_settle = std::time::Duration::from_secs(3_600);
    let intents = open(&home, &policy).await;
    for number in 0..1_000 {
        intents.begin(contract::call_intents::intent(number));
        intents.end(contract::call_intents::intent(number).id);
    }
    intents.begin(contract::call_intents::intent(5_000));
    assert_eq!(rows(&home).await, 0, "nothing was written for them");
    intents.flushed().await;
    assert_eq!(rows(&home).await, 1, "what goes on is written when somebody waits for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_lasts_is_written_without_anybody_asking() {
    let home = Home::new();
    let intents = open(&home, &Policy::default()).await;
    intents.begin(contract::call_intents::intent(1));
    let limit = std::time::Instant::now();
    while rows(&home).await == 0 {
        assert!(limit.elapsed().as_secs() < 10, "the intent is not in the file after 10 s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_with_the_core_is_written_before_it_goes() {
    let home = Home::new();
    let mut policy = Policy::default();
    policy.gateway.intent_settle = std::time::Duration::from_secs(3_600);
    let (done, ended) = tokio::sync::oneshot::channel();
    let path = place(&home);
    let spawn = |work: futures::future::BoxFuture<'static, ()>| {
        let watched = async move {
            work.await;
            done.send(()).expect("the test waits");
        };
        drop(tokio::runtime::Handle::current().spawn(watched));
    };
    let opening = CallIntentsOptions { path: &path, key: key(), policy: &policy };
    let intents = SqliteCallIntents::open(opening, spawn).await.expect("opens");
    intents.begin(contract::call_intents::intent(1));
    drop(intents);
    ended.await.expect("its work ends with it");
    assert_eq!(rows(&home).await, 1, "a call in flight at the end is known at the next start");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reads_a_digest_in_the_file() {
    let home = Home::new();
    let intents = open(&home, &Policy::default()).await;
    intents.begin(contract::call_intents::intent(1));
    intents.flushed().await;
    for file in std::fs::read_dir(home.path().parent().expect("a folder")).expect("reads") {
        let bytes = std::fs::read(file.expect("an entry").path()).expect("reads");
        let canary = b"digest-canary";
        assert!(!bytes.windows(canary.len()).any(|part| part == canary), "arguments can be guessed from a digest");
    }
    assert_eq!(rows(&home).await, 1, "though it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_file_of_intents_is_moved_aside_and_the_core_starts() {
    let home = Home::new();
    std::fs::write(place(&home), vec![b'x'; 8_192]).expect("writes");
    let intents = open(&home, &Policy::default()).await;
    assert_eq!(intents.left_over().await, Ok(Vec::new()), "nothing is known of what was in it");
    intents.begin(contract::call_intents::intent(1));
    intents.flushed().await;
    assert_eq!(rows(&home).await, 1, "and it works");
    let aside = home.path().with_file_name("intents.sqlite.damaged");
    assert!(aside.exists(), "the damaged file is kept for whoever wants to look");
}

#[tokio::test(flavor = "multi_thread")]
async fn intents_of_another_key_are_forgotten_instead_of_stopping_the_core() {
    let home = Home::new();
    let path = place(&home);
    let spawn = |work| drop(tokio::runtime::Handle::current().spawn(work));
    let policy = Policy::default();
    let other = registry::SealKey::from_bytes([8; 32]);
    let opening = CallIntentsOptions { path: &path, key: other, policy: &policy };
    let strangers = SqliteCallIntents::open(opening, spawn).await.expect("opens");
    strangers.begin(contract::call_intents::intent(1));
    strangers.flushed().await;
    let ours = open(&home, &policy).await;
    assert_eq!(ours.left_over().await, Ok(Vec::new()), "they cannot be read");
    assert_eq!(rows(&home).await, 0, "and do not come again");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_from_many_threads_leave_exactly_what_did_not_end() {
    let home = Home::new();
    let intents = Arc::new(open(&home, &Policy::default()).await);
    let mut threads = Vec::new();
    for thread in 0..8_u64 {
        let intents = Arc::clone(&intents);
        threads.push(std::thread::spawn(move || {
            for number in 0..1_250 {
                let intent = contract::call_intents::intent(thread * 10_000 + number);
                let id = intent.id;
                intents.begin(intent);
                if number % 50 != 0 {
                    intents.end(id);
                }
            }
        }));
    }
    for thread in threads {
        thread.join().expect("a thread ends");
    }
    intents.flushed().await;
    assert_eq!(rows(&home).await, 8 * 25, "every fiftieth call goes on");
}
