//! What every home of call intents must do: forget what ended, and give the next run what did not.
//!
//! Three runs; the caller opens the same place again between them.

use domain::ids::{AgentId, HandleId, HostId, ServerId};
use domain::ports::{CallIntent, CallIntents};
use domain::time::Timestamp;

/// An intent of the story.
#[must_use]
pub fn intent(number: u64) -> CallIntent {
    let agent = AgentId::from_random(3);
    CallIntent {
        id: HandleId::from_random(number.into()),
        server: ServerId::from_random(2),
        seat: number.is_multiple_of(2).then_some(agent),
        agent,
        tool: "index_folder".into(),
        arguments_digest: "digest-canary".into(),
        at: Timestamp::from_millis(i64::try_from(number).unwrap_or_default()),
        host: HostId::from_random(1),
    }
}

/// The first run: five calls begin, three end, before and after they were written.
pub async fn first_run(intents: &dyn CallIntents) {
    assert_eq!(intents.left_over().await, Ok(Vec::new()), "nobody was here before");
    for number in 1..=5 {
        intents.begin(intent(number));
    }
    intents.end(intent(1).id);
    intents.flushed().await;
    intents.end(intent(2).id);
    intents.end(intent(3).id);
    intents.end(intent(77).id);
    intents.flushed().await;
    assert_eq!(intents.left_over().await, Ok(Vec::new()), "what is in flight now is not left over");
}

/// The second run: what did not end is left over until it is settled. New calls do not mix with it.
pub async fn second_run(intents: &dyn CallIntents) {
    let ids = |left: &[CallIntent]| left.iter().map(|intent| intent.id).collect::<Vec<_>>();
    let left = intents.left_over().await.expect("what is left over reads");
    assert_eq!(left, [intent(4), intent(5)], "the calls that did not end, as they were");
    intents.begin(intent(6));
    intents.settled(vec![intent(4).id]).await.expect("one has its handle");
    let rest = intents.left_over().await.expect("the rest reads");
    assert_eq!(ids(&rest), [intent(5).id], "the other is still to be settled");
}

/// The third run: what was not settled comes again, and what was begun since.
pub async fn third_run(intents: &dyn CallIntents) {
    let left = intents.left_over().await.expect("what is left over reads");
    assert_eq!(left, [intent(5), intent(6)], "nothing is forgotten and nothing comes twice");
    intents.settled(left.iter().map(|intent| intent.id).collect()).await.expect("all have their handles");
    assert_eq!(intents.left_over().await, Ok(Vec::new()), "nothing is left");
}
