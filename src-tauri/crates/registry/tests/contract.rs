//! The contract on SQLite: a real file, real time.

use domain::time::Timestamp;
use registry::{RegistryOptions, SealKey, SqliteRegistry};
use testkit::contract;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let policy = contract::policy();
    let key = SealKey::from_bytes([7; 32]);
    let opening = RegistryOptions { path: &path, key, policy: &policy, now: Timestamp::EPOCH };
    let spawn = |work| drop(tokio::runtime::Handle::current().spawn(work));
    let registry = SqliteRegistry::open(opening, spawn).await.expect("a new registry opens");
    Box::pin(contract::check(&registry)).await;
}
