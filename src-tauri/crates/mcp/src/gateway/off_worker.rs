//! Runs work on a whole text beside the runtime's threads: a server decides how long its lists and results are.
//!
//! A text of a few kilobytes is worked on in place; another thread would cost more than that.

use crate::server::rpc_error::{RequestError, RequestErrorKind};

/// Texts of fewer bytes are worked on in place. Judgement: a walk over so many takes under a millisecond in a debug build.
const IN_PLACE_BYTES: usize = 64 * 1_024;

/// Does this work on a text of so many bytes; `None` when it could not be done.
pub(crate) async fn on_text<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if bytes < IN_PLACE_BYTES {
        return Some(work());
    }
    tokio::task::spawn_blocking(work).await.ok()
}

/// The answer when it could not be done.
pub(crate) fn failed() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the answer could not be prepared")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[tokio::test]
    async fn long_texts_are_worked_on_by_another_thread_and_short_ones_in_place() {
        let here = thread::current().id();
        let by = |bytes| on_text(bytes, || thread::current().id());
        assert_eq!(by(IN_PLACE_BYTES - 1).await, Some(here));
        assert_ne!(by(IN_PLACE_BYTES).await.expect("it is done"), here);
    }
}
