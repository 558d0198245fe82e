//! A notifier that remembers what it was asked to tell.

use domain::ports::{Notice, Notifier};
use parking_lot::Mutex;

/// Remembers every notice in order.
#[derive(Debug, Default)]
pub struct RecordingNotifier {
    told: Mutex<Vec<Notice>>,
}

impl RecordingNotifier {
    /// What was told so far.
    #[must_use]
    pub fn told(&self) -> Vec<Notice> {
        self.told.lock().clone()
    }
}

impl Notifier for RecordingNotifier {
    fn tell(&self, notice: Notice) {
        self.told.lock().push(notice);
    }
}
