//! How many feeds of supervisor programs are open: in total, and of each token.
//!
//! A feed is registered before anything is read, and no longer when it is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::agent::control_token::ControlToken;
use domain::ids::ControlTokenId;
use domain::policy::ControlTokenPolicy;
use engine::{Gauge, Gauges};
use parking_lot::Mutex;

use crate::error::{ApiError, Code};

/// All open feeds of supervisor programs. Clones count the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlFeeds(Arc<Mutex<BTreeMap<ControlTokenId, FeedsOfToken>>>);

#[derive(Debug)]
struct FeedsOfToken {
    /// The name of the token, for people.
    name: String,
    open: usize,
}

/// The place of one open feed.
#[derive(Debug)]
pub(crate) struct ControlFeedRegistration {
    feeds: ControlFeeds,
    token: ControlTokenId,
}

impl ControlFeeds {
    /// Registers one more feed of this token.
    ///
    /// # Errors
    /// When it, or all together, have as many as may be open.
    pub(crate) fn take(
        &self,
        token: &ControlToken,
        policy: &ControlTokenPolicy,
    ) -> Result<ControlFeedRegistration, ApiError> {
        let mut open = self.0.lock();
        let all: usize = open.values().map(|one| one.open).sum();
        let own = open.get(&token.id).map_or(0, |one| one.open);
        let refusal = if own >= policy.feeds_of_one_token {
            Some((
                format!("this control token has {own} feeds open"),
                "Close one: a feed tells of everything in reach.",
            ))
        } else if all >= policy.feeds_max {
            Some((format!("{all} feeds of control tokens are open"), "Try again when another program closed its feed."))
        } else {
            None
        };
        if let Some((message, hint)) = refusal {
            let error = ApiError::new(Code::OverLimit, message, hint);
            return Err(ApiError { retry_after: Some(policy.feed_retry), ..error });
        }
        let own = open.entry(token.id).or_insert_with(|| FeedsOfToken { name: token.name.clone(), open: 0 });
        own.open += 1;
        drop(open);
        Ok(ControlFeedRegistration { feeds: self.clone(), token: token.id })
    }

    /// Registers how many are open.
    pub(crate) fn register(&self, gauges: &Gauges, policy: &ControlTokenPolicy) {
        let (feeds, wide) = (Arc::downgrade(&self.0), |count: usize| u64::try_from(count).unwrap_or(u64::MAX));
        let (all_max, own_max) = (wide(policy.feeds_max), wide(policy.feeds_of_one_token));
        gauges.add(move |rows| {
            const NAME: &str = "feeds of control tokens";
            let Some(feeds) = feeds.upgrade() else { return };
            let open = feeds.lock();
            let all: usize = open.values().map(|one| one.open).sum();
            rows.push(Gauge::count(NAME, "everyone", wide(all), all_max));
            for FeedsOfToken { name, open } in open.values() {
                rows.push(Gauge::count(NAME, format!("control token {name}"), wide(*open), own_max));
            }
        });
    }
}

impl Drop for ControlFeedRegistration {
    fn drop(&mut self) {
        let mut open = self.feeds.0.lock();
        let Some(feeds) = open.get_mut(&self.token) else { return };
        feeds.open = feeds.open.saturating_sub(1);
        if feeds.open == 0 {
            open.remove(&self.token);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use domain::agent::TokenDigest;
    use domain::agent::control_token::ControlReach;
    use domain::ids::PersonId;
    use domain::time::Timestamp;

    use super::*;

    fn token(number: u128) -> ControlToken {
        ControlToken {
            id: ControlTokenId::from_random(number),
            name: format!("watch-{number}"),
            digest: TokenDigest::of("twc_x"),
            scopes: BTreeSet::new(),
            reach: ControlReach::default(),
            owner: None,
            per_call: 20,
            per_hour: 100,
            needs_reason: false,
            needs_plan: false,
            created: Timestamp::EPOCH,
            by: PersonId::new("ada"),
            until: None,
            revoked: None,
        }
    }

    #[test]
    fn one_token_takes_no_more_feeds_than_it_may_and_a_closed_feed_makes_room() {
        let policy = ControlTokenPolicy { feeds_max: 3, feeds_of_one_token: 2, ..ControlTokenPolicy::default() };
        let (feeds, gauges) = (ControlFeeds::default(), Gauges::default());
        feeds.register(&gauges, &policy);
        let (first, second) = (token(1), token(2));
        let held = [feeds.take(&first, &policy).expect("one"), feeds.take(&first, &policy).expect("two")];
        let refused = feeds.take(&first, &policy).expect_err("a third of one token");
        assert_eq!((refused.code, refused.retry_after), (Code::OverLimit, Some(policy.feed_retry)), "{refused:?}");
        let other = feeds.take(&second, &policy).expect("another token has places of its own");
        let full = feeds.take(&second, &policy).expect_err("all places are open");
        assert!(full.message.contains("3 feeds of control tokens"), "{full:?}");
        let used = || gauges.read().into_iter().map(|row| (row.scope, row.used)).collect::<Vec<_>>();
        let scopes =
            |pairs: &[(&str, u64)]| pairs.iter().map(|(scope, used)| ((*scope).to_owned(), *used)).collect::<Vec<_>>();
        assert_eq!(
            used(),
            scopes(&[("everyone", 3), ("control token watch-1", 2), ("control token watch-2", 1)]),
            "a person sees who has them"
        );
        drop(held);
        assert_eq!(
            used(),
            scopes(&[("everyone", 1), ("control token watch-2", 1)]),
            "closed feeds leave nothing behind"
        );
        drop(other);
        feeds.take(&first, &policy).expect("there is room again");
    }
}
