//! When a person does not want notifications: quiet hours, a pause, and kinds that are off.
//!
//! Hours are local and may cross midnight. A question that would expire during quiet hours is shown all the same; a
//! pause was requested just now and holds everything. Snoozes concern single rows and are in `actor.rs`.

use domain::task::Attention;
use domain::time::Timestamp;
use jiff::civil::Time;

use crate::notifications::card_text::LocalTime;

/// The notification settings of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotificationWishes {
    pub(crate) waiting: bool,
    pub(crate) problem: bool,
    pub(crate) finished: bool,
    /// From and to.
    pub(crate) quiet: Option<(Time, Time)>,
    pub(crate) paused_until: Option<Timestamp>,
}

impl NotificationWishes {
    /// Whether this kind is wanted at all.
    pub(crate) const fn wants(&self, attention: Attention) -> bool {
        match attention {
            Attention::Waiting => self.waiting,
            Attention::Problem => self.problem,
            Attention::Finished => self.finished,
        }
    }

    /// Until when a notification with this deadline is postponed; `None` if it may be shown now.
    pub(crate) fn postponed_until(
        &self,
        deadline: Option<Timestamp>,
        now: Timestamp,
        local: &LocalTime,
    ) -> Option<Timestamp> {
        let paused = self.paused_until.filter(|until| *until > now);
        let quiet = self.quiet_until(now, local).filter(|end| deadline.is_none_or(|deadline| deadline > *end));
        paused.max(quiet)
    }

    /// The end of the quiet hours of this moment.
    fn quiet_until(&self, now: Timestamp, local: &LocalTime) -> Option<Timestamp> {
        let (from, to) = self.quiet.filter(|(from, to)| from != to)?;
        let here = local.zoned(now)?;
        let clock = here.time();
        let is_quiet = if from < to { from <= clock && clock < to } else { clock >= from || clock < to };
        if !is_quiet {
            return None;
        }
        let day = if clock < to { here.date() } else { here.date().tomorrow().ok()? };
        let end = day.to_datetime(to).to_zoned(here.time_zone().clone()).ok()?;
        Some(Timestamp::from_millis(end.timestamp().as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::time;
    use jiff::tz::{Offset, TimeZone};

    use super::*;

    /// A wall two hours ahead of UTC.
    fn local() -> LocalTime {
        LocalTime(TimeZone::fixed(Offset::constant(2)))
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a moment")
    }

    fn night() -> NotificationWishes {
        let quiet = Some((time(22, 0, 0, 0), time(7, 0, 0, 0)));
        NotificationWishes { waiting: true, problem: true, finished: false, quiet, paused_until: None }
    }

    #[test]
    fn a_night_crosses_midnight_on_the_persons_wall() {
        let held = |now: &str| night().postponed_until(None, at(now), &local());
        assert_eq!(held("2026-11-21T19:59:00.000Z"), None, "21:59 is day");
        let end = Some(at("2026-11-22T05:00:00.000Z"));
        assert_eq!(held("2026-11-21T20:00:00.000Z"), end, "22:00 to 7:00 tomorrow");
        assert_eq!(held("2026-11-22T04:59:00.000Z"), end, "6:59, to 7:00 today");
        assert_eq!(held("2026-11-22T05:00:00.000Z"), None, "7:00 is day");
    }

    #[test]
    fn hours_within_a_day_and_no_hours_at_all() {
        let noon = NotificationWishes { quiet: Some((time(12, 0, 0, 0), time(13, 0, 0, 0))), ..night() };
        let held = |wishes: NotificationWishes, now: &str| wishes.postponed_until(None, at(now), &local());
        assert_eq!(held(noon, "2026-11-21T10:30:00.000Z"), Some(at("2026-11-21T11:00:00.000Z")));
        assert_eq!(held(noon, "2026-11-21T11:30:00.000Z"), None);
        let empty = NotificationWishes { quiet: Some((time(9, 0, 0, 0), time(9, 0, 0, 0))), ..night() };
        assert_eq!(held(empty, "2026-11-21T07:00:00.000Z"), None, "an empty span is no span");
    }

    #[test]
    fn a_question_that_would_die_in_the_night_is_told_and_one_that_would_not_is_held() {
        let now = at("2026-11-21T21:00:00.000Z");
        let held =
            |wishes: NotificationWishes, deadline: &str| wishes.postponed_until(Some(at(deadline)), now, &local());
        assert_eq!(held(night(), "2026-11-22T03:00:00.000Z"), None, "it dies at 5:00");
        assert!(held(night(), "2026-11-22T09:00:00.000Z").is_some(), "it lives until 11:00");
        let paused = NotificationWishes { paused_until: Some(at("2026-11-21T22:00:00.000Z")), ..night() };
        assert_eq!(held(paused, "2026-11-21T21:30:00.000Z"), paused.paused_until, "a pause holds everything");
    }
}
