//! Subscriptions: what is asked, what is accepted, and how they end.

use super::*;

const LISTEN: &str = "subscriptions/listen";
const ACK: &str = "notifications/subscriptions/acknowledged";

impl Rig {
    async fn acks(&self, tag: Option<RequestTag>, ids: &[&str]) {
        let params = raw(&json!({"notifications": {"taskIds": ids}}));
        self.says(InboundMessage::Notification { method: ACK.into(), params, on: tag }).await;
    }

    async fn subscribed(&mut self) -> Vec<UpstreamTaskId> {
        match self.heard().await {
            UpstreamEvent::Subscribed(ids) => ids,
            other => panic!("a subscription was expected, not {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_subscription_takes_all_and_accepted_tasks_are_looked_at_once() {
    let mut rig = Rig::modern(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    rig.upstream.watch(vec![task("a"), task("b")]);
    let sent = rig.link.nth(LISTEN, 1).await;
    assert_eq!(sent.params, json!({"notifications": {"taskIds": ["a", "b"]}}), "a burst is one subscription");
    assert!(!sent.limited, "it stays open");
    rig.acks(Some(sent.tag), &["a", "stranger"]).await;
    assert_eq!(rig.subscribed().await, [task("a")], "the accepted subset of what was asked");
    assert_eq!(rig.heard().await, UpstreamEvent::PollSoon(task("a")), "nothing is replayed");
    assert_eq!(rig.link.count(LISTEN), 1, "one is enough");
}

#[tokio::test(start_paused = true)]
async fn a_new_set_opens_a_new_subscription_before_the_old_one_is_closed() {
    let mut rig = Rig::modern(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    let old = rig.link.nth(LISTEN, 1).await;
    rig.acks(None, &["a"]).await;
    rig.subscribed().await;
    rig.heard().await;
    rig.upstream.watch(vec![task("b")]);
    let new = rig.link.nth(LISTEN, 2).await;
    assert!(rig.link.wire.lock().cancelled.is_empty(), "the old one is still open");
    rig.acks(Some(new.tag), &["b"]).await;
    assert_eq!(rig.subscribed().await, [task("b")], "the new one");
    let cancelled = rig.link.until("the old one is closed", |wire| wire.cancelled.first().copied()).await;
    assert_eq!(cancelled, old.tag, "then the old one is closed");
    rig.heard().await;
    rig.upstream.watch(Vec::new());
    assert!(rig.subscribed().await.is_empty(), "nothing is watched, nothing is pushed");
    rig.link.until("the new one is closed", |wire| wire.cancelled.contains(&new.tag).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn a_replaced_subscription_looks_only_at_tasks_the_old_one_did_not_cover() {
    let mut rig = Rig::modern(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    rig.link.nth(LISTEN, 1).await;
    rig.acks(None, &["a"]).await;
    rig.subscribed().await;
    rig.heard().await;
    rig.upstream.watch(vec![task("a"), task("b")]);
    let new = rig.link.nth(LISTEN, 2).await;
    rig.acks(Some(new.tag), &["a", "b"]).await;
    assert_eq!(rig.subscribed().await, [task("a"), task("b")], "both are pushed");
    assert_eq!(rig.heard().await, UpstreamEvent::PollSoon(task("b")), "`a` was pushed all the time");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_subscription_is_told_and_opened_again_with_back_off() {
    let mut rig = Rig::modern(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    let begin = tokio::time::Instant::now();
    for round in 1..=3 {
        let sent = rig.link.nth(LISTEN, round).await;
        rig.acks(Some(sent.tag), &["a"]).await;
        assert_eq!(rig.subscribed().await, [task("a")], "round {round}");
        assert_eq!(rig.heard().await, UpstreamEvent::PollSoon(task("a")), "one look after each");
        rig.link.release(sent.tag, if round == 1 { Err(broken(true)) } else { result(json!({})) }).await;
        assert!(rig.subscribed().await.is_empty(), "from now on it is polled");
    }
    rig.link.nth(LISTEN, 4).await;
    assert!(begin.elapsed() >= Policy::default().backoff_first * 7, "1 s, 2 s, 4 s: {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_or_stays_silent_is_not_asked_again() {
    let refusals: [fn() -> Reply; 4] =
        [|| error(-32601, "no"), || error(-32602, "no"), || Reply::Result(json!({})), || Reply::Hold];
    for refusal in refusals {
        let mut rig = Rig::modern(move |_| refusal());
        rig.upstream.watch(vec![task("a")]);
        assert!(rig.subscribed().await.is_empty(), "told that nothing is pushed");
        rig.upstream.watch(vec![task("b")]);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(rig.link.count(LISTEN), 1, "once on this connection");
    }
    let mut none = Rig::modern(|_| Reply::Hold);
    none.upstream.watch(vec![task("a")]);
    let sent = none.link.nth(LISTEN, 1).await;
    none.acks(Some(sent.tag), &[]).await;
    assert!(none.subscribed().await.is_empty(), "accepting nothing is a refusal");
    none.link.until("it is given up", |wire| wire.cancelled.contains(&sent.tag).then_some(())).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_subscription_is_tried_again_later() {
    let mut tries = 0;
    let rig = Rig::modern(move |_| {
        tries += 1;
        if tries < 3 { Reply::Fail(broken(false)) } else { Reply::Hold }
    });
    rig.upstream.watch(vec![task("a")]);
    rig.link.nth(LISTEN, 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_cancels_its_subscription_is_subscribed_to_again() {
    let mut rig = Rig::modern(|_| Reply::Hold);
    rig.upstream.watch(vec![task("a")]);
    rig.link.nth(LISTEN, 1).await;
    rig.acks(None, &["a"]).await;
    rig.subscribed().await;
    rig.heard().await;
    rig.notifies("notifications/cancelled", json!({"requestId": 4})).await;
    assert!(rig.subscribed().await.is_empty(), "it is over");
    rig.link.nth(LISTEN, 2).await;
}

#[tokio::test(start_paused = true)]
async fn legacy_servers_are_never_asked_to_push() {
    let rig = Rig::legacy(|_| panic!("nothing may be sent"));
    rig.upstream.watch(vec![task("a")]);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(rig.link.wire.lock().sent.len(), 0, "it pushes by itself or not at all");
}
