//! The contract story on the registry without a disk.

use testkit::memory_registry::MemoryRegistry;
use testkit::story;

#[tokio::test(start_paused = true)]
async fn the_memory_registry_keeps_the_contract() {
    story::run(&MemoryRegistry::new(story::policy())).await;
}
