//! Cards about what agents do again and again: one for each alarm, withdrawn when it needs nobody any more.
//!
//! Pure: alarms go in, cards to show or withdraw come out. Alarms that were there when the core started were told by the
//! run before. Whether the person wants cards now is asked in `actor.rs`.

use std::collections::BTreeSet;

use api::dto::alarm::{AlarmDto, AlarmStateDto};
use api::format::alarm::{called, what};
use domain::ids::AlarmId;
use domain::task::Attention;

use crate::notifications::card_plan::{CardChange, CardKey, NotificationCard};

/// Alarms that were told, and cards that may still be on the screen.
pub(crate) struct AlarmCards {
    told: BTreeSet<AlarmId>,
    shown: BTreeSet<AlarmId>,
    /// One is open that was not shown when it was raised.
    pub(crate) is_waiting: bool,
}

impl AlarmCards {
    /// Alarms of before are told already.
    pub(crate) fn new(alarms: &[AlarmDto]) -> Self {
        Self { told: ids(alarms).collect(), shown: BTreeSet::new(), is_waiting: false }
    }

    /// Cards for alarms that are new, where `may_show`; and withdrawals of those that were dismissed or are forgotten.
    pub(crate) fn update(&mut self, alarms: &[AlarmDto], may_show: bool) -> Vec<CardChange> {
        let mut acts = Vec::new();
        let known: BTreeSet<AlarmId> = ids(alarms).collect();
        self.told.retain(|id| known.contains(id));
        self.is_waiting = false;
        for alarm in alarms {
            let Ok(id) = alarm.id.parse::<AlarmId>() else { continue };
            if alarm.state != AlarmStateDto::Open || self.told.contains(&id) {
                continue;
            }
            self.is_waiting |= !may_show;
            if may_show {
                self.told.insert(id);
                self.shown.insert(id);
                acts.push(CardChange::Show(Box::new(card(id, alarm))));
            }
        }
        let needs_look = |alarm: &&AlarmDto| alarm.state != AlarmStateDto::Dismissed;
        let left: BTreeSet<AlarmId> =
            alarms.iter().filter(needs_look).filter_map(|alarm| alarm.id.parse().ok()).collect();
        let gone: Vec<AlarmId> = self.shown.difference(&left).copied().collect();
        for id in gone {
            self.shown.remove(&id);
            acts.push(CardChange::Withdraw(CardKey::Alarm(id)));
        }
        acts
    }

    /// Alarms whose card may be on the screen.
    pub(crate) fn shown(&self) -> impl Iterator<Item = AlarmId> + '_ {
        self.shown.iter().copied()
    }
}

fn ids(alarms: &[AlarmDto]) -> impl Iterator<Item = AlarmId> + '_ {
    alarms.iter().filter_map(|alarm| alarm.id.parse().ok())
}

fn card(id: AlarmId, alarm: &AlarmDto) -> NotificationCard {
    NotificationCard {
        key: CardKey::Alarm(id),
        attention: Attention::Problem,
        title: what(alarm),
        body: if alarm.asks {
            format!("{}. Further calls wait until you decide.", called(alarm))
        } else {
            format!("{}.", called(alarm))
        },
        with_sound: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alarm(bits: u128, state: &str) -> AlarmDto {
        let at = "2026-11-27T12:00:00.000Z";
        let json = serde_json::json!({
            "id": AlarmId::from_random(bits).to_string(), "agent": "order-bot", "kind": "sameCall", "server": "docs",
            "tool": "search", "other": null, "count": 12, "limit": 10, "since": at, "raisedAt": at,
            "lastAt": "2026-11-27T12:04:00.000Z", "state": state, "overAt": null, "dismissedBy": null,
            "action": "warn", "asks": false, "decision": null,
        });
        serde_json::from_value(json).expect("an alarm")
    }

    #[test]
    fn an_alarm_is_one_card_until_it_is_dismissed_and_those_of_before_are_none() {
        let mut cards = AlarmCards::new(&[alarm(1, "open")]);
        let acts = cards.update(&[alarm(1, "open"), alarm(2, "open")], true);
        let [CardChange::Show(card)] = &acts[..] else { panic!("one card: {acts:?}") };
        assert_eq!(card.title, "order-bot made the same call 12 times in 4 min");
        assert_eq!(card.body, "search of docs.");
        assert_eq!(cards.update(&[alarm(1, "open"), alarm(2, "ended")], true), [], "its end is no news");
        let gone = cards.update(&[alarm(1, "open"), alarm(2, "dismissed")], true);
        assert_eq!(gone, [CardChange::Withdraw(CardKey::Alarm(AlarmId::from_random(2)))]);
    }

    #[test]
    fn an_alarm_in_quiet_hours_is_shown_after_them() {
        let mut cards = AlarmCards::new(&[]);
        assert_eq!(cards.update(&[alarm(1, "open")], false), []);
        assert!(cards.is_waiting, "it is looked at again");
        assert_eq!(cards.update(&[alarm(1, "open")], true).len(), 1);
    }
}
