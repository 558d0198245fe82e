//! The contract on the registry without a disk.

use testkit::contract;
use testkit::memory_registry::MemoryRegistry;

#[tokio::test(start_paused = true)]
async fn the_memory_registry_keeps_the_contract() {
    Box::pin(contract::check(&MemoryRegistry::new(contract::policy()))).await;
}

#[tokio::test]
async fn intents_in_memory_keep_the_contract() {
    let first = testkit::call_intents::MemoryCallIntents::default();
    contract::call_intents::first_run(&first).await;
    let second = first.reopened();
    contract::call_intents::second_run(&second).await;
    contract::call_intents::third_run(&second.reopened()).await;
}
