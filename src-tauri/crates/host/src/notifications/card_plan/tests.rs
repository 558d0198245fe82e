//! Which cards are on the screen, second by second.

use std::time::Duration;

use domain::task::status::Phase;
use jiff::tz::TimeZone;

use super::*;

fn id(n: u128) -> HandleId {
    HandleId::from_random(n)
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(1_000_000 + seconds))
}

fn item(n: u128, attention: Attention) -> NotificationSubject {
    NotificationSubject {
        handle: id(n),
        attention,
        phase: Phase::Waiting,
        title: format!("title {n}"),
        body: String::new(),
        place: String::new(),
        inbox: vec![format!("{}/k", id(n))],
        deadline: None,
        since: at(0),
    }
}

fn plan() -> CardPlan {
    CardPlan::new(&HostPolicy::default(), LocalTime(TimeZone::UTC))
}

/// Titles of shown cards with a bell where one sounds, and keys of withdrawn ones.
fn told(acts: Vec<CardChange>) -> Vec<String> {
    acts.into_iter()
        .map(|act| match act {
            CardChange::Show(card) => format!("{}{}", card.title, if card.with_sound { " ♪" } else { "" }),
            CardChange::Withdraw(CardKey::Task(handle)) => {
                let n = (1..20).find(|n| id(*n) == handle).expect("one of ours");
                format!("away {n}")
            }
            CardChange::Withdraw(key) => format!("away {key:?}"),
        })
        .collect()
}

fn waiting(n: u128) -> Vec<NotificationSubject> {
    vec![item(n, Attention::Waiting)]
}

#[test]
fn a_question_is_shown_at_once_and_a_few_more_one_by_one() {
    let mut plan = plan();
    assert_eq!(told(plan.offer(waiting(1), false, at(0))), ["title 1 ♪"], "the first waits for nothing");
    assert!(plan.offer(waiting(2), false, at(1)).is_empty(), "it may be a burst");
    assert!(plan.offer(waiting(3), false, at(2)).is_empty());
    assert_eq!(plan.next(), Some(at(3)));
    assert_eq!(told(plan.tick(at(3))), ["title 2", "title 3"], "three are no burst, and one sound is enough");
    assert_eq!(told(plan.offer(waiting(4), false, at(70))), ["title 4 ♪"], "a minute later it sounds again");
}

#[test]
fn five_within_three_seconds_become_one_that_replaces_the_first() {
    let mut plan = plan();
    plan.offer(waiting(1), false, at(0));
    for n in 2..=3 {
        plan.offer(waiting(n), false, at(1));
    }
    plan.offer(vec![item(4, Attention::Problem)], false, at(1));
    plan.offer(vec![item(5, Attention::Problem)], false, at(2));
    let shown = plan.tick(at(3));
    let card = shown.iter().find_map(|act| match act {
        CardChange::Show(card) => Some(card.clone()),
        CardChange::Withdraw(_) => None,
    });
    assert_eq!(card.map(|card| card.body), Some("3 questions, 2 problems · oldest since 13:46".into()));
    assert_eq!(told(shown), ["away 1", "5 items need you"]);
    assert_eq!(plan.behind(CardKey::Many).len(), 5, "it stands for all of them");
}

#[test]
fn what_the_engine_tells_as_one_takes_the_card_before_it_along() {
    let mut plan = plan();
    plan.offer(waiting(1), false, at(0));
    let many = (2..=5).map(|n| item(n, Attention::Waiting)).collect();
    assert_eq!(told(plan.offer(many, true, at(1))), ["away 1", "5 items need you"]);
    assert!(plan.offer(waiting(6), false, at(2)).is_empty(), "what comes right behind waits its window");
}

#[test]
fn what_is_over_is_counted_apart_from_what_needs_a_person() {
    let mut plan = plan();
    let items = vec![item(1, Attention::Finished), item(2, Attention::Finished), item(3, Attention::Waiting)];
    assert_eq!(told(plan.offer(items, true, at(0))), ["1 item needs you ♪", "2 tasks are over"]);
}

#[test]
fn an_answered_question_is_withdrawn_and_a_count_goes_down() {
    let mut plan = plan();
    plan.offer(waiting(1), false, at(0));
    assert_eq!(told(plan.gone(id(1), at(1))), ["away 1"]);
    assert!(plan.gone(id(1), at(1)).is_empty(), "once");
    plan.offer(waiting(2), false, at(1));
    assert!(plan.gone(id(2), at(2)).is_empty(), "it was not shown yet");
    assert!(plan.tick(at(3)).is_empty(), "and never is");

    plan.offer((3..=6).map(|n| item(n, Attention::Waiting)).collect(), true, at(20));
    assert!(plan.gone(id(3), at(21)).is_empty() && plan.gone(id(4), at(22)).is_empty());
    assert_eq!(told(plan.tick(at(24))), ["2 items need you"], "one new count for both, without a sound");
    plan.gone(id(5), at(25));
    assert_eq!(told(plan.gone(id(6), at(25))), ["away Many"]);
}

#[test]
fn the_same_task_keeps_its_card() {
    let mut plan = plan();
    plan.offer(waiting(1), false, at(0));
    assert_eq!(told(plan.offer(waiting(1), false, at(100))), ["title 1 ♪"], "told again, in its place");
    let mut changed = item(1, Attention::Waiting);
    changed.title = "title 1 with two questions".into();
    assert_eq!(told(plan.refresh(changed, at(101))), ["title 1 with two questions"], "without a sound");
    plan.closed(CardKey::Task(id(1)));
    assert!(plan.refresh(item(1, Attention::Waiting), at(102)).is_empty(), "what was taken away stays away");
    assert_eq!(plan.items().count(), 0);
}

#[test]
fn what_waits_for_its_moment_is_shown_in_time_though_the_clock_was_set() {
    for hours in [-1_i64, 1] {
        let mut plan = plan();
        plan.offer(waiting(1), false, at(10_000));
        assert!(plan.offer(waiting(2), false, at(10_001)).is_empty(), "counted for a moment first");
        let set = |seconds: u64| at(seconds).shifted(hours * 3_600_000);
        plan.clock_stepped(hours * 3_600_000);
        assert!(plan.tick(set(10_001)).is_empty(), "no time passed");
        let window = HostPolicy::default().notice_window.as_secs();
        assert_eq!(told(plan.tick(set(10_000 + window))), ["title 2"], "and no sound comes early");
    }
}

#[test]
fn a_screen_full_of_cards_gets_no_more_of_them() {
    let mut plan = plan();
    let most = HostPolicy::default().notices_shown_max;
    for n in 0..most {
        plan.offer(waiting(n as u128 + 1), false, at(n as u64 * 10));
    }
    let shown = told(plan.offer(waiting(most as u128 + 1), false, at(500)));
    assert_eq!(shown, ["1 item needs you ♪"], "it goes to the card of many");
}
