//! The contract story on SQLite: a real file, real time.

use domain::time::Timestamp;
use registry::{SealKey, Sqlite};
use testkit::story;

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.sqlite");
    let registry = Sqlite::open(&path, SealKey::from_bytes([7; 32]), &story::policy(), Timestamp::EPOCH)
        .await
        .expect("a new registry opens");
    story::run(&registry).await;
}
