//! What an agent sees of a task, stage by stage and whatever happens (statements 66, 68, 69).

use proptest::prelude::*;

use super::random_histories::{Happening, any_history, perform};
use super::*;
use crate::policy::LATE_REPLY_WAIT;
use crate::ports::UpstreamError;
use crate::rule::{LimitAction, TokenLimit};
use crate::task::status::{GoneWhy, Phase};
use crate::task::{
    AgentFailure, AgentView, HoldReason, OwnFailure, ResultForm, agent_failure, agent_task_times, agent_view,
};
use crate::tokens::{Family, TaskTokens};

fn words(sight: &AgentView) -> &str {
    match sight {
        AgentView::Working { .. } => "working",
        AgentView::InputRequired { .. } => "input_required",
        AgentView::Completed => "completed",
        AgentView::Failed => "failed",
        AgentView::Cancelled => "cancelled",
        AgentView::Gone => "gone",
    }
}

fn long_after(millis: i64) -> Timestamp {
    at(millis).plus(LATE_REPLY_WAIT)
}

#[test]
fn every_stage_of_a_task_has_its_sight() {
    let seen = |status: TaskStatus| given(Audience::People).observe(&sight(status, 20), &policy()).next;
    let call = || agents_call(Audience::People).give(at(11)).next;
    let plain = |reply: &CallReply| call().replied(reply, &home(), at(20), &policy()).next;
    let result = |is_error| CallReply::Result { payload: Payload::new("{}"), is_error };
    let error = CallReply::Error { error: rpc_error(), payload: Payload::new("{}") };
    let stored = Outcome::Ok(ResultRef { bytes: 2 });
    let stop = |task: &TaskHandle| task.cancel(AGENT, None, at(15)).expect("open").next;
    let table = [
        ("a call in flight", call(), "working", "working"),
        ("a plain result", plain(&result(false)), "completed", "completed"),
        ("a plain tool error", plain(&result(true)), "completed", "completed"),
        ("a plain error", plain(&error), "failed", "failed"),
        ("never sent", call().not_sent("no connection", at(20)).next, "failed", "failed"),
        ("never sent, stopped", stop(&call()).not_sent("no connection", at(20)).next, "cancelled", "cancelled"),
        ("a lost reply", call().reply_lost("gone", at(20)).next, "working", "failed"),
        ("a lost reply after a stop", stop(&call()).call_cancelled(at(20)).next, "cancelled", "cancelled"),
        ("a task at work", seen(TaskStatus::Working), "working", "working"),
        ("an odd word", seen(TaskStatus::Other("odd".into())), "working", "working"),
        ("asked, without questions", seen(TaskStatus::InputRequired), "working", "working"),
        ("a result", seen(TaskStatus::Completed(stored)), "completed", "completed"),
        ("a result on its way", seen(TaskStatus::Completed(Outcome::NotFetched)), "working", "working"),
        ("completed, with an error", seen(TaskStatus::Completed(Outcome::Error(rpc_error()))), "failed", "failed"),
        ("a result out of reach", seen(TaskStatus::Completed(Outcome::Unavailable)), "failed", "failed"),
        ("an error", seen(TaskStatus::Failed(Some(rpc_error()))), "failed", "failed"),
        ("an error on its way", seen(TaskStatus::Failed(None)), "working", "failed"),
        ("cancelled", seen(TaskStatus::Cancelled), "cancelled", "cancelled"),
        ("lost", given(Audience::People).gone(&GoneWhy::Unknown, at(20)).next, "gone", "gone"),
        ("expired", given(Audience::People).gone(&GoneWhy::Expired, at(20)).next, "gone", "gone"),
        ("asked to stop", stop(&given(Audience::People)), "working", "working"),
    ];
    for (name, task, soon, later) in table {
        assert_eq!(words(&agent_view(&task, at(21))), soon, "{name}");
        assert_eq!(words(&agent_view(&task, long_after(21))), later, "{name}, later");
        let failed = agent_view(&task, long_after(21)) == AgentView::Failed;
        assert_eq!(agent_failure(&task, long_after(21)).is_some(), failed, "{name}: what failed says with what");
        let revoked = task.revoke(ann(), None, at(22)).expect("not revoked before").next;
        assert_eq!(agent_view(&revoked, at(22)), AgentView::Gone, "{name}, taken away");
    }
}

#[test]
fn the_servers_words_are_passed_on_while_it_works() {
    let said = Observation { message: Some("half".into()), ..sight(TaskStatus::Working, 20) };
    let task = given(Audience::People).observe(&said, &policy()).next;
    assert_eq!(agent_view(&task, at(20)), AgentView::Working { message: Some("half".into()) });
    let stopped = task.cancel(AGENT, None, at(30)).expect("open").next;
    let asked = AgentView::Working { message: Some("The server was asked to stop.".into()) };
    assert_eq!(agent_view(&stopped, at(30)), asked, "and ours when something else is more important");
}

#[test]
fn a_late_reply_counts_while_the_agent_was_not_told_of_the_loss() {
    let lost = agents_call(Audience::People).give(at(11)).next.reply_lost("core restarted", at(20)).next;
    let reply = CallReply::Result { payload: Payload::new("{}"), is_error: false };
    let soon = lost.replied(&reply, &home(), at(30), &policy()).next;
    assert_eq!(agent_view(&soon, at(30)), AgentView::Completed, "a keeper brought it in time");

    let late = lost.replied(&reply, &home(), long_after(20), &policy()).next;
    assert_eq!(late.phase(long_after(20)), Phase::Done, "people have the result");
    assert_eq!(agent_view(&late, long_after(20)), AgentView::Failed, "the agent was told that it failed");
    let shown = Some(AgentFailure::Ours(OwnFailure::ReplyLost));
    assert_eq!(agent_failure(&late, long_after(20)), shown, "the same failure as before");
    let refusal = CallReply::Error { error: rpc_error(), payload: Payload::new("{}") };
    let refused = lost.replied(&refusal, &home(), long_after(20), &policy()).next;
    assert_eq!(agent_failure(&refused, long_after(20)), shown, "nor does another failure take its place");
}

#[test]
fn a_reply_that_cannot_be_read_is_told_as_one_and_not_as_a_lost_connection() {
    let why = "is longer than 1024 bytes".to_owned();
    let unreadable = UpstreamError::Unreadable { path: "$.result.taskId".into(), why, raw: None };
    let step = agents_call(Audience::People).give(at(11)).next.reply_lost(&unreadable.to_string(), at(20));
    let noted = step.audit.iter().find(|fact| fact.verb == Verb::Unconfirmed);
    assert_eq!(noted.map(|fact| fact.note.as_str()), Some("the reply cannot be read"));
    let said = "The server replied, and the reply cannot be read because of its size or its form; the call ends soon.";
    assert_eq!(agent_view(&step.next, at(30)), AgentView::Working { message: Some(said.into()) });
    let late = long_after(20);
    let failure = agent_failure(&step.next, late);
    assert_eq!(failure, Some(AgentFailure::Ours(OwnFailure::ReplyUnreadable)));
    assert_eq!(step.next.phase(late), Phase::Unconfirmed, "whether it ran is as unknown as before");
}

#[test]
fn an_agent_is_told_times_that_never_go_back() {
    let numbers = policy();
    let task = given(Audience::People);
    let first = agent_task_times(&task, &numbers);
    assert_eq!(first.created, at(0), "when it called");
    let backwards = task.agent_gone(at(20)).next.agent_back(at(5)).next;
    assert_eq!(agent_task_times(&backwards, &numbers).updated, at(20), "though our clock went back");
    assert_eq!(agent_task_times(&backwards, &numbers).created, first.created);
    let waits = task.undeliver(at(20)).next;
    let later = waits.observe(&sight(TaskStatus::Cancelled, 30), &numbers).next.delivered(at(40));
    assert!(later.changed, "something is recorded after the end");
    assert_eq!(agent_task_times(&later.next, &numbers).updated, at(30), "and its agent sees no change by it");
    for (hint, told) in [(1, 500), (3_000, 3_000), (999_999, 60_000)] {
        let seen = Observation { hint: Some(Duration::from_millis(hint)), ..sight(TaskStatus::Working, 20) };
        let task = task.observe(&seen, &numbers).next;
        assert_eq!(agent_task_times(&task, &numbers).hint, Duration::from_millis(told), "{hint} ms");
    }
    assert_eq!(first.hint, numbers.gateway.agent_poll, "without a hint");
    assert_eq!(first.ttl, Ttl::Unlimited, "it is kept here");
    let seen = Observation { ttl: Ttl::For(Duration::from_secs(60)), ..sight(TaskStatus::Working, 20) };
    let kept = task.observe(&seen, &numbers).next;
    assert_eq!(agent_task_times(&kept, &numbers).ttl, seen.ttl, "the server's word");
    let asked = TaskHandle { agent_ttl: Some(Duration::from_secs(30)), ..kept };
    assert_eq!(agent_task_times(&asked, &numbers).ttl, Ttl::For(Duration::from_secs(30)), "the agent's own");
}

/// Something that passes between a task and its agent, or any other happening.
#[derive(Debug, Clone)]
enum Dealing {
    Happening(Box<Happening>),
    Give,
    Undeliver,
    Delivered,
    Gone,
    Back,
    ToldCancelled,
    Hold,
    Release(bool),
    Answered(usize),
    GoesOver(LimitAction),
    LetGoOn,
    Counted(u64),
}

fn any_dealings() -> impl Strategy<Value = Vec<(i64, Dealing)>> {
    let own = prop_oneof![
        3 => Just(Dealing::Give),
        1 => Just(Dealing::Undeliver),
        1 => Just(Dealing::Delivered),
        2 => Just(Dealing::Gone),
        2 => Just(Dealing::Back),
        1 => Just(Dealing::ToldCancelled),
        2 => Just(Dealing::Hold),
        1 => any::<bool>().prop_map(Dealing::Release),
        6 => (0_usize..3).prop_map(Dealing::Answered),
        1 => prop_oneof![Just(LimitAction::Warn), Just(LimitAction::Ask), Just(LimitAction::Stop)].prop_map(Dealing::GoesOver),
        1 => Just(Dealing::LetGoOn),
        1 => any::<u64>().prop_map(Dealing::Counted),
    ];
    let own = prop::collection::vec((0_i64..8_000, own), 0..12);
    (any_history(), own, any::<prop::sample::Index>()).prop_map(|(history, own, place)| {
        let mut all: Vec<(i64, Dealing)> =
            history.into_iter().map(|(pause, what)| (pause, Dealing::Happening(Box::new(what)))).collect();
        let place = place.index(all.len() + 1);
        for (index, dealing) in own.into_iter().enumerate() {
            all.insert((place + index * 3).min(all.len()), dealing);
        }
        all
    })
}

fn deal(handle: &TaskHandle, dealing: &Dealing, now: Timestamp) -> Transition {
    let nothing = |_| Transition::none(handle);
    match dealing {
        Dealing::Happening(happening) => perform(handle, happening, now),
        Dealing::Give => handle.give(now),
        Dealing::Undeliver => handle.undeliver(now),
        Dealing::Delivered => handle.delivered(now),
        Dealing::Gone => handle.agent_gone(now),
        Dealing::Back => handle.agent_back(now),
        Dealing::ToldCancelled => handle.agent_told_cancelled(now),
        Dealing::Hold => handle.hold(ann(), now).unwrap_or_else(nothing),
        Dealing::Release(deliver) => {
            handle.release(&ben(), deliver.then_some(ResultForm::Whole), None, now).unwrap_or_else(nothing)
        }
        Dealing::GoesOver(what) => handle.exceed_limit(61, TokenLimit { tokens: 60, at: *what }, now),
        Dealing::LetGoOn => handle.let_go_on(&ann(), now).unwrap_or_else(nothing),
        Dealing::Counted(tokens) => handle.counted(TaskTokens { interim: *tokens, ..TaskTokens::new(Family::O200k) }),
        Dealing::Answered(which) => {
            let key = handle.requests.keys().nth(*which).cloned();
            let input = AnswerInput { key, ..forwarded("") };
            handle.answer(input, now).map_or_else(nothing, |(step, _)| step)
        }
    }
}

/// Whether its result is here.
fn has_result(task: &TaskHandle) -> bool {
    let outcome = match &task.view {
        ServerView::Direct(outcome) => outcome,
        ServerView::Task(task) => match &task.status {
            TaskStatus::Completed(outcome) => outcome,
            _ => return false,
        },
        _ => return false,
    };
    matches!(outcome, Outcome::Ok(_) | Outcome::ToolError(_))
}

/// A limit on results acts in the commit that the result comes with.
fn limited_result(before: &TaskHandle, step: Transition, limit: Option<bool>, now: Timestamp) -> Transition {
    let why = HoldReason::TooLarge { tokens: 61, limit: 60 };
    match limit {
        Some(in_slices) if has_result(&step.next) && !has_result(before) => {
            let held = step.next.hold_at_limit(why, in_slices, now);
            Transition { changed: step.changed || held.changed, ..held }
        }
        Some(_) | None => step,
    }
}

fn any_audience() -> impl Strategy<Value = Audience> {
    prop_oneof![
        Just(Audience::People),
        Just(Audience::Agent),
        Just(Audience::Both),
        (0_i64..60_000).prop_map(|millis| Audience::AgentThenPeople { people_at: at(millis) }),
    ]
}

/// What holds of a sight at any moment.
fn check_sight(task: &TaskHandle, now: Timestamp) -> Result<(), TestCaseError> {
    let shown = agent_view(task, now);
    let open: Vec<RequestKey> =
        task.requests.values().filter(|request| request.state.is_open()).map(|request| request.key.clone()).collect();
    if let AgentView::InputRequired { keys } = &shown {
        prop_assert!(!keys.is_empty(), "something is outstanding");
        let alone = |key: &RequestKey| task.requests.get(key).is_some_and(|request| request.ask.is_for_agents_alone());
        let theirs = |key: &&RequestKey| task.audience != Audience::People || alone(key);
        prop_assert!(keys.iter().all(|key| theirs(&key)), "68: what people are asked, the agent is not");
        let all: Vec<RequestKey> = open.iter().filter(theirs).cloned().collect();
        prop_assert_eq!(keys, &all, "66: all that is outstanding for it");
    }
    prop_assert_eq!(agent_failure(task, now).is_some(), shown == AgentView::Failed);
    if shown == AgentView::Completed {
        prop_assert!(task.view.is_terminal(), "a result is here");
    }
    for request in task.requests.values().filter(|request| !request.ask.is_for_people()) {
        prop_assert!(!task.asks_people(request, now), "what people cannot answer is never before them");
    }
    Ok(())
}

#[test]
fn looking_for_a_payload_in_vain_moves_no_time_of_a_task_that_its_agent_was_told_is_cancelled() {
    let told = given(Audience::People).agent_told_cancelled(at(15)).next;
    let ended = told.observe(&sight(TaskStatus::Completed(Outcome::NotFetched), 20), &policy()).next;
    let late = at(20).plus(policy().hint_ceiling);
    let looked = ended.ticked(late, &policy());
    assert!(looked.changed && looked.next.changed == late, "the next look counts from this one");
    assert_eq!(agent_task_times(&looked.next, &policy()).updated, at(15), "its agent saw this end and no later one");
}

proptest! {
    #[test]
    fn what_an_agent_was_shown_as_an_end_never_changes(
        audience in any_audience(),
        hold in any::<bool>(),
        task in any::<bool>(),
        limit in any::<Option<bool>>(),
        history in any_dealings(),
    ) {
        let call = NewCall { agent: Some(AGENT), by: Actor::Agent(AGENT), audience, hold, ..new_call() };
        let mut handle = TaskHandle::admit(call, at(0)).next;
        if task {
            handle = with_task(&handle);
        }
        let (mut now, mut shown): (Timestamp, Option<(AgentView, Option<AgentFailure>)>) = (at(100), None);
        let (mut updated, mut ended) = (handle.changed, None);
        for (pause, dealing) in &history {
            // The agent looks at any time, also between two happenings.
            for moment in [pause / 2, *pause] {
                let look = at(now.as_millis() + moment);
                check_sight(&handle, look)?;
                if handle.is_given() {
                    let (seen, failure) = (agent_view(&handle, look), agent_failure(&handle, look));
                    if let Some((end, with)) = &shown {
                        prop_assert_eq!(&seen, end, "69: before {:?}", dealing);
                        if let Some(AgentFailure::Ours(error)) = with {
                            prop_assert_eq!(&failure, &Some(AgentFailure::Ours(error.clone())), "with the same words");
                        }
                    }
                    if seen.is_terminal() {
                        shown = Some((seen, failure));
                    }
                    let facts = agent_task_times(&handle, &policy());
                    prop_assert_eq!(facts.created, at(0), "created is stable");
                    prop_assert!(facts.updated >= updated, "updated never goes back");
                    updated = facts.updated;
                    if shown.is_some() {
                        prop_assert_eq!(*ended.get_or_insert(updated), updated, "and stays after an end");
                    }
                }
            }
            now = at(now.as_millis() + pause);
            let step = limited_result(&handle, deal(&handle, dealing, now), limit, now);
            if !step.changed {
                prop_assert_eq!(agent_view(&handle, now), agent_view(&step.next, now), "no sight without a commit");
                let flags = |task: &TaskHandle| (task.is_given(), task.is_undelivered(), task.is_orphaned(), task.is_held());
                prop_assert_eq!(flags(&handle), flags(&step.next), "nor a flag");
            }
            handle = step.next;
        }
    }
}
