//! A wall clock that a test can set: the program runs under libfaketime, its monotonic clock stays the real one.
//!
//! The library comes from the system (`libfaketime` of Debian); nothing of ours knows about it. Only the process that
//! gets [`FakeClock::env`] sees the steps, not its commands and servers.

use std::path::{Path, PathBuf};

/// Where Debian, Fedora and Arch put it; `TASKWARDEN_FAKETIME` names another place.
const PLACES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// What a test says that needs the library and does not find it.
pub const MISSING: &str = "libfaketime is not installed (`apt install libfaketime`)";

/// The wall clock of one process.
pub struct FakeClock {
    library: PathBuf,
    offset: PathBuf,
}

impl FakeClock {
    /// A clock that is right, with its setting in this folder; `None` where the library is not installed.
    #[must_use]
    pub fn new(folder: &Path) -> Option<Self> {
        let named = std::env::var_os("TASKWARDEN_FAKETIME").map(PathBuf::from);
        let library = named.into_iter().chain(PLACES.map(PathBuf::from)).find(|path| path.is_file())?;
        let clock = Self { library, offset: folder.join("clock-offset") };
        clock.set(0);
        Some(clock)
    }

    /// From now on the clock shows the real time and this many seconds, within a second.
    pub fn set(&self, seconds: i64) {
        let fresh = self.offset.with_extension("new");
        std::fs::write(&fresh, format!("{seconds:+}s\n")).expect("the setting of the clock");
        // In one step: a reader never sees half of it.
        std::fs::rename(&fresh, &self.offset).expect("the setting of the clock");
    }

    /// The environment of the process that has this clock.
    #[must_use]
    pub fn env(&self) -> [(&'static str, &str); 5] {
        [
            ("LD_PRELOAD", self.library.to_str().expect("a plain path")),
            ("FAKETIME_TIMESTAMP_FILE", self.offset.to_str().expect("a plain path")),
            ("FAKETIME_CACHE_DURATION", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
            ("NO_FAKE_STAT", "1"),
        ]
    }
}
