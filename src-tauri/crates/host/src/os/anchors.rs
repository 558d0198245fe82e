//! Places of anchors on this system: files, and branches of git repositories.
//!
//! Which checkpoints are copied, and when, is the engine's (`tasks/audit_log/anchors.rs`).

mod files;
mod repositories;

use std::path::{Path, PathBuf};

use domain::policy::AuditPolicy;
use domain::ports::{AnchorPlace, AnchorPlaceFault, AnchorPlaces, LogHead, PortFuture};
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
}

impl LocalAnchors {
    pub(crate) fn new(registry: PathBuf, policy: &AuditPolicy) -> Self {
        Self { registry, files: AnchorFiles::new(policy), repositories: AnchorRepositories::new(policy) }
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
        }
    }

    fn is_beside_registry(&self, place: &AnchorPlace) -> PortFuture<'_, bool> {
        if let AnchorPlace::Git { remote: Some(_), .. } = place {
            return Box::pin(async { false });
        }
        let registry = self.registry.clone();
        let looked = self.files.beside(place.path(), move |path| Ok(share_disk(path, &registry)));
        Box::pin(async move { looked.await.unwrap_or(false) })
    }
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
