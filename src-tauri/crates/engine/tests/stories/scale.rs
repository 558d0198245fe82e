//! A scale that weighs as the plain one does, after something that a story wants: it waits, it fails, it is not exact.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::ports::{Cut, MessagePart, PartCount, TokenCounter};
use domain::task::payload::Payload;
use domain::tokens::{Count, Family};
use parking_lot::{Condvar, Mutex};
use testkit::token_counter::ByteTokenCounter;

/// Weighs after this, and may be wrong by so many percent.
struct After<F>(F, u8);

impl<F: Fn(MessagePart<'_>) + Send + Sync + 'static> TokenCounter for After<F> {
    fn count_part(&self, family: Family, load: MessagePart<'_>) -> PartCount {
        (self.0)(load);
        ByteTokenCounter.count_part(family, load)
    }

    fn tools(&self, family: Family, list: &str) -> BTreeMap<Arc<str>, Count> {
        (self.0)(MessagePart::Text(list));
        ByteTokenCounter.tools(family, list)
    }

    fn cut(&self, family: Family, text: &str, tokens: u64) -> Cut {
        ByteTokenCounter.cut(family, text, tokens)
    }

    fn words(&self, result: &str) -> String {
        ByteTokenCounter.words(result)
    }

    fn trim(&self, family: Family, result: &str, tokens: u64) -> Payload {
        ByteTokenCounter.trim(family, result, tokens)
    }

    fn error_percent(&self, _: Family) -> u8 {
        self.1
    }
}

/// A scale that fails on results that are larger than this, and whose counts may be wrong by so many percent.
pub(crate) fn fragile(bytes: usize, error_percent: u8) -> Arc<dyn TokenCounter> {
    let fails = move |load: MessagePart<'_>| {
        if let MessagePart::Result(text) = load {
            assert!(text.len() <= bytes, "too large for this scale");
        }
    };
    Arc::new(After(fails, error_percent))
}

/// What lets a scale through while it is open: shut, that scale takes for ever.
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    /// Threads that wait here.
    waiting: AtomicUsize,
}

impl Gate {
    pub(crate) fn shut() -> Arc<Self> {
        Arc::new(Self { is_open: Mutex::new(false), opened: Condvar::new(), waiting: AtomicUsize::new(0) })
    }

    /// The scale behind it.
    pub(crate) fn scale(self: &Arc<Self>) -> Arc<dyn TokenCounter> {
        let gate = Arc::clone(self);
        Arc::new(After(move |_: MessagePart<'_>| gate.pass(), 0))
    }

    /// A scale of which only results that are larger than this wait here.
    pub(crate) fn scale_of_results_beyond(self: &Arc<Self>, bytes: usize) -> Arc<dyn TokenCounter> {
        let gate = Arc::clone(self);
        let pass = move |load: MessagePart<'_>| {
            if matches!(load, MessagePart::Result(text) if text.len() > bytes) {
                gate.pass();
            }
        };
        Arc::new(After(pass, 0))
    }

    pub(crate) fn open(&self) {
        *self.is_open.lock() = true;
        self.opened.notify_all();
    }

    /// How many counts wait here.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    fn pass(&self) {
        let mut open = self.is_open.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !*open {
            self.opened.wait(&mut open);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens the gate however the test ends, so that its threads end with it.
pub(crate) struct Opens(pub(crate) Arc<Gate>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}
