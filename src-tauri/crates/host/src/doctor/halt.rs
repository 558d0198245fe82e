//! Whether work is halted, and whether the file `HALT` could be put aside.

use api::calls::core::doctor::NamedFacts;
use api::calls::core::findings::Finding;

use crate::config::Config;

pub(super) fn examine(config: &Config, named: &NamedFacts, core_runs: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    if let Some(why) = &named.halt.unreadable {
        found.push(Finding::broken(
            "halt",
            format!("the halts on record cannot be read, so everything is halted: {why}"),
            "`taskwarden resume calls` ends that; look into the audit log for what was halted.",
        ));
    } else if let Some(halt) = &named.halt.halt {
        found.push(Finding::note(
            "halt",
            format!("work is halted since {}", halt.at),
            "`taskwarden halt` shows what is halted and which stage of the way back is next.",
        ));
    }
    let path = config.paths.halt_file();
    // A core puts it aside within a second.
    if path.symlink_metadata().is_ok() {
        let (message, cure) = if core_runs {
            ("was found and may not have been renamed", "Remove it yourself, or the next start halts all calls again.")
        } else {
            ("will halt all calls when the core starts", "Remove it if that is not wanted.")
        };
        found.push(Finding::note("halt", format!("the file `{}` {message}", path.display()), cure));
    }
    found
}
