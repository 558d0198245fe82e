//! Makes this process the parent of every orphan below it, and reaps those that end (decision 0016).
//!
//! A process that a server or an agent leaves behind then stays below the core, where it can be recognised. Children
//! that this program started itself are reaped by whoever started them.

#[cfg(target_os = "linux")]
pub(crate) use linux::{adopt, reap};

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{adopt, reap};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;

    use domain::policy::HostPolicy;
    use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
    use tokio::signal::unix::{SignalKind, signal};

    /// Makes orphans below this process its children.
    pub(crate) fn adopt() {
        if let Err(error) = set_child_subreaper(Some(getpid())) {
            tracing::warn!(%error, "orphans of servers are adopted by the system; their requests are refused as unproven");
        }
    }

    /// Waits for adopted children that ended, so that they do not stay as zombies. Runs until it is dropped.
    pub(crate) async fn reap(hosting: HostPolicy) {
        let Ok(mut ended) = signal(SignalKind::child()) else { return std::future::pending().await };
        let mut before = HashSet::new();
        loop {
            // Dropped at any time: what is not waited for yet is found again.
            if before.is_empty() && ended.recv().await.is_none() {
                return std::future::pending().await;
            }
            tokio::time::sleep(hosting.orphan_wait).await;
            let zombies = zombies();
            // Whoever started a child reaps it at once; one that is still there after the wait has nobody else.
            for pid in zombies.intersection(&before) {
                if let Some(pid) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
                    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
                }
            }
            before = &zombies - &before;
        }
    }

    /// Children of this process that have ended and were not waited for.
    fn zombies() -> HashSet<u32> {
        let own = std::process::id().to_string();
        let folders = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        folders
            .filter_map(|folder| folder.file_name().to_str()?.parse().ok())
            .filter(|pid: &u32| {
                let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                let mut words = stat.rsplit_once(')').map_or("", |(_, after)| after).split_whitespace();
                words.next() == Some("Z") && words.next() == Some(&own)
            })
            .collect()
    }
}

// Not run here: orphans go to the system, and what they ask for is refused as unproven.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use domain::policy::HostPolicy;

    pub(crate) fn adopt() {}

    pub(crate) async fn reap(_hosting: HostPolicy) {
        std::future::pending().await
    }
}
