//! Times for the window, which has no clock and no limits of its own.
//!
//! Reads the system's clock and the built-in limits; nothing about tasks is decided with them. The core has the `Clock`
//! port instead.

use domain::policy::HostPolicy;
use domain::ports::Clock as _;
use engine::SystemClock;

/// The current time as ISO 8601 in UTC with milliseconds, so that texts sort like times.
#[must_use]
pub fn now() -> String {
    SystemClock.now().to_string()
}

/// Waits until a core that could not be opened may be tried again. Cancel-safe.
pub async fn before_another_try() {
    tokio::time::sleep(HostPolicy::default().attach_again).await;
}
