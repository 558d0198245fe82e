//! A disk on which every sync takes as long as a test says: the program runs with a library before that of the system.
//!
//! A sync that waits ends when the disk becomes fast again. Only the process that gets [`SlowDisk::env`] has it. The
//! library is compiled by the C compiler that linked this program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SOURCE: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long told_ms(void) {
    char text[16] = { 0 };
    int from = open(SETTING, O_RDONLY);
    if (from < 0) return 0;
    if (read(from, text, sizeof text - 1) < 0) text[0] = 0;
    close(from);
    return atol(text);
}
static void wait_as_told(void) {
    struct timespec step = { 0, 20 * 1000000 };
    for (long waited = 0; waited < told_ms(); waited += 20) nanosleep(&step, 0);
}
int fsync(int fd) { wait_as_told(); return syscall(SYS_fsync, fd); }
int fdatasync(int fd) { wait_as_told(); return syscall(SYS_fdatasync, fd); }
"#;

/// How long syncs of one process take.
pub struct SlowDisk {
    library: PathBuf,
    setting: PathBuf,
}

impl SlowDisk {
    /// A disk that is as fast as it is, with its library and its setting in this folder.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let (source, library, setting) = (folder.join("slow.c"), folder.join("slow.so"), folder.join("slow-ms"));
        std::fs::write(&source, SOURCE).expect("its source");
        let name = format!("-DSETTING=\"{}\"", setting.display());
        let made = Command::new("cc").args(["-shared", "-fPIC", &name, "-o"]).arg(&library).arg(&source).status();
        assert!(made.is_ok_and(|status| status.success()), "the C compiler that linked this program makes the library");
        let disk = Self { library, setting };
        disk.set(Duration::ZERO);
        disk
    }

    /// From now on every sync takes this much longer.
    pub fn set(&self, longer: Duration) {
        let fresh = self.setting.with_extension("new");
        std::fs::write(&fresh, longer.as_millis().to_string()).expect("the setting");
        std::fs::rename(&fresh, &self.setting).expect("the setting");
    }

    /// The environment of the process that has this disk.
    #[must_use]
    pub fn env(&self) -> [(&'static str, &str); 1] {
        [("LD_PRELOAD", self.library.to_str().expect("a plain path"))]
    }
}
