//! Cards about pauses that ask which of the waiting calls are sent: one for each, withdrawn when it asks no more.
//!
//! Pure: pauses go in, cards to show or withdraw come out. A pause that asked before the core started is told again, because
//! the run before took its cards away when it ended. Whether the person wants cards now is asked in `actor.rs`.

use std::collections::BTreeSet;

use api::dto::moment;
use api::dto::pause::PauseDto;
use api::format::pause::{asks, why};
use domain::ids::PauseId;
use domain::task::Attention;
use domain::time::Timestamp;

use crate::notifications::card_plan::{CardChange, CardKey, NotificationCard};
use crate::notifications::card_text::LocalTime;

/// Pauses that were told, and cards that may still be on the screen.
#[derive(Default)]
pub(crate) struct PauseCards {
    told: BTreeSet<PauseId>,
}

impl PauseCards {
    /// Cards for pauses that ask since the last time, where `may_show`; and withdrawals of those that ask no more.
    pub(crate) fn update(
        &mut self,
        pauses: &[PauseDto],
        may_show: bool,
        local: &LocalTime,
        now: Timestamp,
    ) -> Vec<CardChange> {
        let mut acts = Vec::new();
        let mut asking = BTreeSet::new();
        for pause in pauses.iter().filter(|pause| pause.must_choose) {
            let Ok(id) = pause.id.parse::<PauseId>() else { continue };
            asking.insert(id);
            if may_show && self.told.insert(id) {
                acts.push(CardChange::Show(Box::new(card(id, pause, local, now))));
            }
        }
        let gone: Vec<PauseId> = self.told.difference(&asking).copied().collect();
        for id in gone {
            self.told.remove(&id);
            acts.push(CardChange::Withdraw(CardKey::Pause(id)));
        }
        acts
    }

    /// Pauses whose card may be on the screen.
    pub(crate) fn shown(&self) -> impl Iterator<Item = PauseId> + '_ {
        self.told.iter().copied()
    }
}

fn card(id: PauseId, pause: &PauseDto, local: &LocalTime, now: Timestamp) -> NotificationCard {
    let since = moment(&pause.since).map(|at| format!("since {}", local.clock(at, now))).unwrap_or_default();
    NotificationCard {
        key: CardKey::Pause(id),
        attention: Attention::Waiting,
        title: asks(pause),
        body: why(pause, &since),
        with_sound: false,
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_795_780_800_000);

    fn pause(bits: u128, waiting: u64, must_choose: bool) -> PauseDto {
        let json = serde_json::json!({
            "id": PauseId::from_random(bits).to_string(), "agent": "order-bot", "server": null,
            "since": NOW.shifted(-1_200_000).to_string(), "by": "ada", "reason": "wrong month", "holdsResults": false,
            "waiting": waiting, "mustChoose": must_choose, "processes": null,
        });
        serde_json::from_value(json).expect("a pause")
    }

    fn update(cards: &mut PauseCards, pauses: &[PauseDto], may_show: bool) -> Vec<CardChange> {
        cards.update(pauses, may_show, &LocalTime(TimeZone::UTC), NOW)
    }

    #[test]
    fn a_pause_is_one_card_from_when_it_asks_until_it_asks_no_more() {
        let mut cards = PauseCards::default();
        assert_eq!(update(&mut cards, &[pause(1, 2, false)], true), [], "it is young");
        let acts = update(&mut cards, &[pause(1, 2, true)], true);
        let [CardChange::Show(card)] = &acts[..] else { panic!("one card: {acts:?}") };
        assert_eq!(card.title, "2 calls of order-bot wait for your choice");
        assert!(
            card.body.starts_with("Paused since ") && card.body.ends_with("none of them was sent."),
            "{}",
            card.body
        );
        assert!(!card.body.contains("wrong month"), "the reason stays in the window: {}", card.body);
        assert_eq!(update(&mut cards, &[pause(1, 3, true)], true), [], "a further call is no news");
        let gone = [CardChange::Withdraw(CardKey::Pause(PauseId::from_random(1)))];
        assert_eq!(update(&mut cards, &[pause(1, 0, false)], true), gone, "nothing waits any more");
        assert_eq!(update(&mut cards, &[pause(1, 1, true)], true).len(), 1, "what waits later is told anew");
        assert_eq!(update(&mut cards, &[], true), gone, "it ended");
    }

    #[test]
    fn a_pause_that_asks_in_quiet_hours_is_told_after_them() {
        let mut cards = PauseCards::default();
        assert_eq!(update(&mut cards, &[pause(1, 2, true)], false), []);
        assert_eq!(update(&mut cards, &[pause(1, 2, true)], true).len(), 1);
    }
}
