//! What an order refuses and freezes, and the stages of the way back.

use super::*;

const CI: ServerId = ServerId::from_random(1);
const DOCS: ServerId = ServerId::from_random(2);
const CLAUDE: AgentId = AgentId::from_random(3);

fn at(second: i64) -> Timestamp {
    Timestamp::from_millis(second * 1_000)
}

fn ada() -> PersonId {
    PersonId::new("ada")
}

fn order(subject: HaltSubject, effects: &[HaltEffect], second: i64) -> HaltOrder {
    HaltOrder {
        subject,
        effects: effects.iter().copied().collect(),
        at: at(second),
        by: Some(ada().into()),
        reason: "wrong month".into(),
        lifted: BTreeMap::new(),
    }
}

fn halt(orders: Vec<HaltOrder>) -> Halt {
    Halt::begun(HaltId::from_random(9), orders)
}

fn work(server: ServerId, agent: Option<AgentId>, tool: &str) -> HaltedWork<'_> {
    HaltedWork { server, agent, tool: Some(tool) }
}

#[test]
fn an_order_refuses_the_calls_that_it_covers_and_no_others() {
    let calls = [HaltEffect::Calls];
    for (subject, refused) in [
        (HaltSubject::Everything, [true, true, true, true]),
        (HaltSubject::Server(CI), [true, true, true, false]),
        (HaltSubject::Agent(CLAUDE), [true, false, false, true]),
        (HaltSubject::Tool(CI, "build".into()), [true, true, false, false]),
    ] {
        let halted = halt(vec![order(subject.clone(), &calls, 10)]);
        let made = [
            work(CI, Some(CLAUDE), "build"),
            work(CI, None, "build"),
            work(CI, None, "test"),
            work(DOCS, Some(CLAUDE), "build"),
        ];
        let found = made.map(|call| halted.refusing(call).is_some());
        assert_eq!(found, refused, "{subject:?}");
    }
    let only_questions = halt(vec![order(HaltSubject::Everything, &[HaltEffect::Requests], 10)]);
    assert!(only_questions.refusing(work(CI, None, "build")).is_none(), "calls go on when only questions are frozen");
}

#[test]
fn the_way_back_is_taken_stage_by_stage_and_lifts_one_effect_at_a_time() {
    let all = halt(vec![order(HaltSubject::Everything, &HaltEffect::ALL, 10)]);
    let call = work(CI, None, "build");
    assert_eq!(
        all.stepped(RecoveryStage::Calls, ada(), at(20)),
        Err(StageRefused::TooEarly(RecoveryStage::Acknowledged))
    );
    let seen = all.stepped(RecoveryStage::Acknowledged, ada(), at(20)).expect("the first stage");
    assert_eq!(
        seen.stepped(RecoveryStage::Acknowledged, ada(), at(21)),
        Err(StageRefused::Reached(RecoveryStage::Acknowledged))
    );
    assert_eq!(
        seen.stepped(RecoveryStage::ReadOnly, ada(), at(21)),
        Err(StageRefused::TooEarly(RecoveryStage::Requests))
    );
    assert!(seen.covering(HaltEffect::Running, call).is_none(), "nothing more is cancelled");
    assert!(seen.covering(HaltEffect::Requests, call).is_some(), "questions are still frozen");
    let asked = seen.stepped(RecoveryStage::Requests, ada(), at(30)).expect("the second");
    assert!(asked.covering(HaltEffect::Requests, call).is_none());
    let mut reads = asked.stepped(RecoveryStage::ReadOnly, ada(), at(40)).expect("the third");
    reads.confirmed.push(ConfirmedTool { server: CI, tool: "status".into(), digest: "00".into() });
    assert!(reads.refusing(call).is_some(), "a tool that nobody confirmed stays refused");
    assert!(reads.refusing(work(CI, None, "status")).is_none(), "one that only reads passes");
    assert!(reads.refusing(work(DOCS, None, "status")).is_some(), "of its server alone");
    let over = reads.stepped(RecoveryStage::Calls, ada(), at(50)).expect("the last");
    assert!(over.is_over() && over.refusing(call).is_none());
}

#[test]
fn a_further_order_widens_the_halt_and_the_way_back_begins_again() {
    let first = halt(vec![order(HaltSubject::Server(CI), &HaltEffect::ALL, 10)]);
    let back = first
        .stepped(RecoveryStage::Acknowledged, ada(), at(20))
        .and_then(|halt| halt.stepped(RecoveryStage::Requests, ada(), at(30)))
        .expect("two stages");
    let wider = back.widened(vec![order(HaltSubject::Server(DOCS), &HaltEffect::ALL, 40)]);
    assert_eq!((wider.stage(), wider.orders.len(), wider.at()), (None, 2, at(10)), "one halt, both orders");
    assert!(wider.refusing(work(CI, None, "x")).is_some() && wider.refusing(work(DOCS, None, "x")).is_some());
    assert!(wider.covering(HaltEffect::Requests, work(CI, None, "x")).is_none(), "what was lifted stays lifted");
    assert!(wider.covering(HaltEffect::Requests, work(DOCS, None, "x")).is_some());
}

#[test]
fn the_time_of_frozen_questions_counts_once_and_only_while_they_are_frozen() {
    let frozen = [HaltEffect::Requests];
    let both = halt(vec![order(HaltSubject::Server(CI), &frozen, 100), order(HaltSubject::Everything, &frozen, 150)]);
    let seconds = |halt: &Halt, from, to| halt.frozen_between(work(CI, None, "x"), at(from), at(to)).as_secs();
    assert_eq!(seconds(&both, 0, 90), 0, "before it began");
    assert_eq!(seconds(&both, 0, 200), 100, "two orders at once count once");
    assert_eq!(seconds(&both, 120, 200), 80, "from when the question was asked");
    let lifted = both
        .stepped(RecoveryStage::Acknowledged, ada(), at(250))
        .and_then(|halt| halt.stepped(RecoveryStage::Requests, ada(), at(300)))
        .expect("two stages");
    assert_eq!(seconds(&lifted, 0, 1_000), 200, "it ends with the stage");
    assert_eq!(lifted.frozen_between(work(DOCS, None, "x"), at(0), at(1_000)).as_secs(), 150, "the wider order alone");
}
