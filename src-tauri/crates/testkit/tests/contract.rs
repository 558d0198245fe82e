//! The contract story on the registry without a disk.

use testkit::memory_registry::MemoryRegistry;
use testkit::story;

#[tokio::test(start_paused = true)]
async fn the_memory_registry_keeps_the_contract() {
    Box::pin(story::run(&MemoryRegistry::new(story::policy()))).await;
}

#[tokio::test]
async fn intents_in_memory_keep_the_contract() {
    let first = testkit::intents::MemoryIntents::default();
    story::intents::begun(&first).await;
    let second = first.reopened();
    story::intents::left(&second).await;
    story::intents::left_again(&second.reopened()).await;
}
