//! The contract story on SQLite: a real file, real time.

use domain::time::Timestamp;
use registry::{Opening, SealKey, Sqlite};
use testkit::story;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let policy = story::policy();
    let key = SealKey::from_bytes([7; 32]);
    let opening = Opening { path: &path, key, policy: &policy, now: Timestamp::EPOCH };
    let spawn = |work| drop(tokio::runtime::Handle::current().spawn(work));
    let registry = Sqlite::open(opening, spawn).await.expect("a new registry opens");
    Box::pin(story::run(&registry)).await;
}
