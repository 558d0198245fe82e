//! Ends of tasks, and what comes with them.

use super::*;
use crate::task::status::{Contact, GoneWhy, Needs, Phase};
use crate::task::{Attention, Effect};

#[test]
fn an_end_stores_its_payload_closes_questions_and_tells_people() {
    let asked = working().observe(&listing(&["a"], 1_010), &policy()).next;
    let step = asked.observe(&completed(3_010), &policy());
    assert_eq!(step.next.phase(at(3_010)), Phase::Done);
    assert!(matches!(state(&step.next, "a"), RequestState::Withdrawn { .. }));
    assert_eq!(verbs(&step), [Verb::Ended, Verb::Withdrawn]);
    assert_eq!(step.audit[0].note, "input_required -> completed");
    assert_eq!(step.payloads.iter().map(|write| &write.kind).collect::<Vec<_>>(), [&PayloadKind::Result]);
    let told = [Effect::StopPolling, Effect::Release, Effect::Tell(Attention::Finished)];
    assert_eq!(step.effects, told);
    assert_eq!(step.learned_ms, Some(1_010), "two of the three seconds it waited for a person");
    let failed = working().observe(&sight(TaskStatus::Failed(Some(rpc_error())), 20), &policy());
    assert_eq!((failed.next.phase(at(20)), failed.learned_ms), (Phase::Failed, None));
    let wrong = working().observe(&tool_error(20), &policy()).next;
    assert_eq!(wrong.phase(at(20)), Phase::DoneWithError);
}

#[test]
fn a_payload_that_was_missing_may_still_come_and_nothing_else() {
    let bare = working().observe(&sight(TaskStatus::Completed(Outcome::NotFetched), 20), &policy()).next;
    let filled = bare.observe(&completed(30), &policy());
    assert!(filled.changed && filled.payloads.len() == 1);
    assert_eq!(filled.learned_ms, None, "it was learned when it ended");
    let failed = working().observe(&sight(TaskStatus::Failed(None), 20), &policy()).next;
    let shown = failed.observe(&tool_error(30), &policy());
    assert_eq!(shown.next.phase(at(30)), Phase::DoneWithError, "the payload shows what the tool said");
    assert_eq!(verbs(&shown), []);
    let repeated = shown.next.observe(&sight(TaskStatus::Failed(None), 40), &policy());
    assert!(!repeated.changed, "an old server goes on saying failed of it");
    let other = filled.next.observe(&tool_error(40), &policy());
    assert_eq!(verbs(&other), [Verb::Contradiction]);
    assert_eq!(status(&other.next), status(&filled.next));
}

#[test]
fn an_error_in_place_of_a_result_is_how_a_completed_task_failed() {
    let error = || TaskStatus::Completed(Outcome::Error(rpc_error()));
    let payload = || Some(Payload::new(r#"{"code":-32603,"message":"boom"}"#));
    let bare = working().observe(&sight(TaskStatus::Completed(Outcome::NotFetched), 20), &policy()).next;
    let filled = bare.observe(&Observation { payload: payload(), ..sight(error(), 30) }, &policy());
    let at_once = working().observe(&Observation { payload: payload(), ..sight(error(), 20) }, &policy());
    for step in [&filled, &at_once] {
        assert_eq!(step.next.phase(at(30)), Phase::Failed, "the error is the outcome (statement 32)");
        assert_eq!(status(&step.next).word(), "completed", "and the word is the server's (ruling 45)");
        assert_eq!(step.payloads.iter().map(|write| &write.kind).collect::<Vec<_>>(), [&PayloadKind::Error]);
    }
    assert_eq!(at_once.learned_ms, None, "no example of the time that it usually takes");
    assert_eq!(verbs(&filled), [], "it contradicts nothing");
    let repeated = filled.next.observe(&sight(TaskStatus::Completed(Outcome::NotFetched), 40), &policy());
    assert!(!repeated.changed && verbs(&repeated).is_empty(), "nor does the word that the server goes on saying");
    let failed = working().observe(&sight(TaskStatus::Failed(None), 20), &policy()).next;
    let named = failed.observe(&sight(error(), 30), &policy()).next;
    assert_eq!(status(&named), &TaskStatus::Failed(Some(rpc_error())), "the first word stays");
    let again = named.observe(&sight(error(), 40), &policy());
    assert!(!again.changed && verbs(&again).is_empty(), "and the same error read once more contradicts nothing");
}

#[test]
fn a_pushed_end_without_payload_is_looked_at_at_once_and_after_a_restart() {
    let pushed = Observation { door: ObservationDoor::Push, ..sight(TaskStatus::Completed(Outcome::NotFetched), 20) };
    let step = working().observe(&pushed, &policy());
    assert!(step.effects.contains(&Effect::PollAt(at(20))) && !step.effects.contains(&Effect::StopPolling));
    let tick = step.next.next_tick(&policy()).expect("it is not forgotten");
    let ticked = step.next.ticked(tick, &policy());
    assert!(ticked.changed && ticked.effects.contains(&Effect::PollAt(tick)));
    assert!(ticked.next.next_tick(&policy()) > Some(tick), "it does not tick twice for one thing");
    let much_later = tick.plus(policy().hint_ceiling);
    let given_up = ticked.next.ticked(much_later, &policy()).next;
    assert_eq!(status(&given_up), &TaskStatus::Completed(Outcome::Unavailable));
    assert_eq!(given_up.next_tick(&policy()), None);
}

#[test]
fn a_found_task_is_followed_and_an_ended_one_is_only_kept() {
    let live = found(TaskStatus::Working);
    assert_eq!(verbs(&live), [Verb::Discovered]);
    assert!(live.changed && live.effects.contains(&Effect::PollAt(at(10))));
    assert_eq!((live.next.created, live.next.tool.clone()), (at(10), None));
    let ended = found(TaskStatus::Cancelled);
    assert!(!ended.effects.contains(&Effect::Tell(Attention::Finished)), "old ends are not news");
    let bare = found(TaskStatus::Completed(Outcome::NotFetched));
    assert_eq!(bare.effects, [Effect::PollAt(at(10))], "a list never brings the result");
    assert_eq!(bare.learned_ms, None, "nobody knows when it began");
}

#[test]
fn a_task_that_is_gone_says_why_and_asks_nobody() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let step = asked.gone(&GoneWhy::ProcessEnded("signal 9".into()), at(30));
    assert_eq!(step.next.phase(at(30)), Phase::Lost);
    assert!(matches!(step.next.contact, Contact::Gone { seen, .. } if seen == at(20)), "with when it was last seen");
    assert!(matches!(state(&step.next, "a"), RequestState::Withdrawn { .. }));
    assert!(!step.audit.iter().any(|event| event.note.contains("signal")), "no text of others in the audit log");
    assert!(!step.next.gone(&GoneWhy::Unknown, at(40)).changed, "gone is gone");
    let done = working().observe(&completed(20), &policy()).next;
    assert!(!done.gone(&GoneWhy::ServerRemoved, at(30)).changed, "an end is not lost with its server");
}

#[test]
fn a_task_that_is_heard_of_again_after_it_was_lost_can_still_be_answered() {
    let asked = working().observe(&listing(&["a"], 20), &policy()).next;
    let lost = asked.gone(&GoneWhy::Unknown, at(30)).next;
    assert_eq!(lost.phase(at(30)), Phase::Lost);
    let back = lost.observe(&listing(&["a"], 40), &policy());
    assert!(back.changed && back.next.phase(at(40)) == Phase::Waiting, "the server knows it after all");
    assert!(matches!(state(&back.next, "a"), RequestState::Open), "a key opens only once, so it must not have closed");
}

#[test]
fn a_server_that_needs_sign_in_blocks_and_comes_back() {
    let needs = Needs::SignIn("Set a token.".into());
    let blocked = working().blocked(&needs, at(20));
    assert_eq!(blocked.next.phase(at(20)), Phase::Blocked);
    assert!(!blocked.next.blocked(&needs, at(30)).changed, "told once");
    let back = blocked.next.observe(&sight(TaskStatus::Working, 40), &policy());
    assert!(back.changed && back.next.phase(at(40)) == Phase::Running);
}

#[test]
fn what_the_server_says_in_words_is_kept_as_a_log_without_repeats() {
    let said = |text: &str, millis| Observation { message: Some(text.into()), ..sight(TaskStatus::Working, millis) };
    let one = working().observe(&said("reading", 20), &policy());
    let same = one.next.observe(&said("reading", 30), &policy());
    let two = same.next.observe(&said("writing", 40), &policy());
    assert_eq!((one.log.len(), same.log.len(), two.log.len()), (1, 0, 1));
    assert_eq!((two.log[0].at, two.log[0].text.as_str()), (at(40), "writing"));
}

#[test]
fn the_time_a_server_keeps_a_task_counts_from_first_sight_and_saturates() {
    let kept = |ttl, millis| Observation { ttl, ..sight(TaskStatus::Working, millis) };
    let expires = |handle: &TaskHandle| handle.view.task().and_then(|task| task.expires);
    let handle = working().observe(&kept(Ttl::For(Duration::from_secs(60)), 20), &policy()).next;
    assert_eq!(expires(&handle), Some(at(60_010)));
    let unsaid = handle.observe(&kept(Ttl::Unsaid, 30), &policy());
    assert_eq!((expires(&unsaid.next), unsaid.changed), (Some(at(60_010)), false));
    let longer = handle.observe(&kept(Ttl::For(Duration::from_secs(90)), 30), &policy()).next;
    assert_eq!(expires(&longer), Some(at(90_010)));
    let absurd = handle.observe(&kept(Ttl::For(Duration::MAX), 30), &policy()).next;
    assert_eq!(expires(&absurd), Some(at(i64::MAX)));
    let unlimited = handle.observe(&kept(Ttl::Unlimited, 30), &policy()).next;
    assert_eq!(expires(&unlimited), None);
}

#[test]
fn progress_is_taken_while_it_runs_and_not_after() {
    let half =
        crate::task::observation::Progress { done: Some(0.5), total: Some(f64::NAN), message: Some("a\u{1b}b".into()) };
    let step = awaiting().progressed(&half, at(20), &policy());
    let kept = step.next.progress.clone().expect("kept");
    assert_eq!((kept.done, kept.total, kept.message.as_deref()), (Some(0.5), None, Some("ab")));
    assert_eq!(step.next.contact, Contact::Fresh { seen: at(20) }, "a sign of life");
    assert!(!step.next.progressed(&half, at(30), &policy()).changed, "equal progress is not news");
    let done = working().observe(&completed(20), &policy()).next;
    assert!(!done.progressed(&half, at(30), &policy()).changed);
}
