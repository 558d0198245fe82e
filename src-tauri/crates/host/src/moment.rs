//! Moments for the window, which has no clock and no numbers of its own.
//!
//! It reads the system's clock and the built-in numbers; nothing about tasks is decided with them. The core has the
//! `Clock` port instead.

use domain::policy::HostPolicy;
use domain::ports::Clock as _;
use engine::SystemClock;

/// Now, as ISO 8601 in UTC with milliseconds; two such texts compare like their moments.
#[must_use]
pub fn now() -> String {
    SystemClock.now().to_string()
}

/// Returns when a core that could not be opened may be tried again. Cancel-safe.
pub async fn before_another_try() {
    tokio::time::sleep(HostPolicy::default().attach_again).await;
}
