//! Places of anchors: files and branches of git repositories on this system, and collectors.
//!
//! Which checkpoints are copied, and when, is the engine's (`tasks/audit_log/anchors.rs`).

mod files;
mod repositories;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::audit::log_sink::{CollectorHeaderError, LogSink, SinkSignal};
use domain::policy::AuditPolicy;
use domain::ports::{
    AnchorPlace, AnchorPlaceFault, AnchorPlaces, CollectorReply, LogCollectors, LogHead, PortFuture, Secret,
};
use verify::anchor::newest_anchor;
use verify::note::NoteKey;

use self::files::AnchorFiles;
use self::repositories::AnchorRepositories;

pub(crate) use self::repositories::notes_of_repository;

/// The places that this machine can write.
pub(crate) struct LocalAnchors {
    /// The folder of the registry.
    registry: PathBuf,
    files: AnchorFiles,
    repositories: AnchorRepositories,
    collectors: Arc<dyn LogCollectors>,
}

impl LocalAnchors {
    pub(crate) fn new(registry: PathBuf, policy: &AuditPolicy, collectors: Arc<dyn LogCollectors>) -> Self {
        let (files, repositories) = (AnchorFiles::new(policy), AnchorRepositories::new(policy));
        Self { registry, files, repositories, collectors }
    }

    /// Whether a folder is there and answers, before a program is started that would wait for it.
    async fn see(&self, repository: &Path) -> Result<(), AnchorPlaceFault> {
        let looked = self.files.beside(repository, |path| match path.metadata() {
            Ok(about) if about.is_dir() => Ok(()),
            Ok(_) => Err(AnchorPlaceFault::NotOurs("is a file; name the folder of a git repository".into())),
            Err(error) => Err(files::unreachable(&error)),
        });
        looked.await
    }
}

impl AnchorPlaces for LocalAnchors {
    fn newest(
        &self,
        place: &AnchorPlace,
        keys: Vec<String>,
    ) -> PortFuture<'_, Result<Option<LogHead>, AnchorPlaceFault>> {
        match place {
            AnchorPlace::File(path) => self.files.newest(path, keys),
            AnchorPlace::Git { repository, remote } => {
                let (repository, remote) = (repository.clone(), remote.clone());
                Box::pin(async move {
                    self.see(&repository).await?;
                    self.repositories.newest(&repository, remote.as_deref(), &keys).await
                })
            }
            AnchorPlace::Otlp { .. } => Box::pin(async { Ok(None) }),
        }
    }

    fn prepare(&self, place: &AnchorPlace) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        match place {
            AnchorPlace::File(path) => self.files.prepare(path),
            AnchorPlace::Git { repository, remote } => {
                let (repository, remote) = (repository.clone(), remote.clone());
                Box::pin(async move {
                    self.see(&repository).await?;
                    self.repositories.prepare(&repository, remote.as_deref()).await
                })
            }
            // The first checkpoint shows whether it takes any.
            AnchorPlace::Otlp { .. } => Box::pin(async { Ok(()) }),
        }
    }

    fn append(&self, place: &AnchorPlace, size: u64, note: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        match place {
            // A blank line ends the note, as the checkpoints that are printed end.
            AnchorPlace::File(path) => self.files.append(path, format!("{note}\n")),
            AnchorPlace::Git { repository, remote } => {
                let (repository, remote) = (repository.clone(), remote.clone());
                Box::pin(async move { self.repositories.append(&repository, remote.as_deref(), size, &note).await })
            }
            AnchorPlace::Otlp { .. } => no_collector(),
        }
    }

    fn send(&self, place: &AnchorPlace, request: String) -> PortFuture<'_, Result<(), AnchorPlaceFault>> {
        let AnchorPlace::Otlp { number, url, headers } = place else { return no_file() };
        let collector = LogSink::new(*number, url.clone(), headers.clone(), &[SinkSignal::Logs], 0);
        Box::pin(async move {
            match self.collectors.send(&collector, SinkSignal::Logs, request).await {
                CollectorReply::Taken { rejected: 0 } => Ok(()),
                CollectorReply::Taken { .. } => Err(AnchorPlaceFault::Refused("rejected the checkpoint".into())),
                CollectorReply::Later { why, wait } => Err(AnchorPlaceFault::Later { why, wait }),
                CollectorReply::TooLarge { why } | CollectorReply::Refused { why } => {
                    Err(AnchorPlaceFault::Refused(why))
                }
            }
        })
    }

    fn keep_headers(&self, number: u32, headers: &[(String, Secret)]) -> Result<(), CollectorHeaderError> {
        self.collectors.keep_headers(number, headers)
    }

    fn forget_headers(&self, number: u32, names: &[String]) {
        self.collectors.forget_headers(number, names);
    }

    fn is_beside_registry(&self, place: &AnchorPlace) -> PortFuture<'_, bool> {
        if let AnchorPlace::Git { remote: Some(_), .. } | AnchorPlace::Otlp { .. } = place {
            return Box::pin(async { false });
        }
        let registry = self.registry.clone();
        let looked = self.files.beside(place.path(), move |path| Ok(share_disk(path, &registry)));
        Box::pin(async move { looked.await.unwrap_or(false) })
    }
}

/// A collector has nothing to append to; it is sent requests.
fn no_collector<'a>() -> PortFuture<'a, Result<(), AnchorPlaceFault>> {
    Box::pin(async { Err(AnchorPlaceFault::NotOurs("is a collector, which gets no notes".into())) })
}

/// Only a collector is sent requests.
fn no_file<'a>() -> PortFuture<'a, Result<(), AnchorPlaceFault>> {
    Box::pin(async { Err(AnchorPlaceFault::NotOurs("is no collector, which alone gets requests".into())) })
}

/// The head of the last note of a text that ends with one.
fn head_of(end: &str, keys: &[String]) -> Result<Option<LogHead>, AnchorPlaceFault> {
    let not_ours =
        |why: String| AnchorPlaceFault::NotOurs(format!("does not end with a checkpoint of this log: {why}"));
    let anchor = newest_anchor("", end).map_err(|fault| not_ours(fault.to_string()))?;
    let Some(anchor) = anchor else { return Ok(None) };
    let keys: Vec<NoteKey> = keys.iter().filter_map(|key| NoteKey::parse(key).ok()).collect();
    anchor.check_signature(&keys).map_err(|fault| not_ours(fault.to_string()))?;
    Ok(Some(LogHead { origin: anchor.head.origin, size: anchor.head.size, root: anchor.head.root }))
}

/// Whether two places are on one file system; where that cannot be told, they count as if.
fn share_disk(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let disk = |path: &Path| path.metadata().map(|about| about.dev()).ok();
        disk(one).zip(disk(other)).is_none_or(|(one, other)| one == other)
    }
    #[cfg(not(unix))]
    {
        one.components().next() == other.components().next()
    }
}
