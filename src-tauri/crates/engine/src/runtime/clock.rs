//! The system clock behind the `Clock` port: the only place in the product that reads wall time.
//!
//! It does not sleep: that is the runtime's. The test clock is in testkit.

use std::time::UNIX_EPOCH;

use domain::ports::Clock;
use domain::time::Timestamp;

/// Wall time of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the Clock port's production adapter")]
    fn now(&self) -> Timestamp {
        let millis = match std::time::SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            // A clock before 1970 is set wrong; counting backwards keeps the order.
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
        };
        Timestamp::from_millis(millis)
    }
}
