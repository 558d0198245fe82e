//! Lists the files that lie directly in a folder and are of a known kind, which their extension says.
//!
//! Hidden files, folders, links and unknown extensions are skipped. Nothing is moved here.

use std::ffi::OsString;
use std::path::Path;

use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use jiff::Timestamp;

/// A kind of files, with the sub-folder it goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Images,
    Documents,
    Archives,
    Audio,
    Video,
    Programs,
}

impl FileKind {
    pub(super) const ALL: [Self; 6] =
        [Self::Images, Self::Documents, Self::Archives, Self::Audio, Self::Video, Self::Programs];

    /// The name of its sub-folder, and its word in the form.
    pub(super) const fn folder(self) -> &'static str {
        match self {
            Self::Images => "Images",
            Self::Documents => "Documents",
            Self::Archives => "Archives",
            Self::Audio => "Audio",
            Self::Video => "Video",
            Self::Programs => "Programs",
        }
    }

    /// What people call one of it, and several.
    pub(super) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Images => ("image", "images"),
            Self::Documents => ("document", "documents"),
            Self::Archives => ("archive", "archives"),
            Self::Audio => ("audio file", "audio files"),
            Self::Video => ("video", "videos"),
            Self::Programs => ("program", "programs"),
        }
    }

    const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Images => &["jpg", "jpeg", "png", "gif", "webp", "svg", "heic", "bmp", "tif", "tiff", "avif"],
            Self::Documents => &[
                "pdf", "doc", "docx", "odt", "txt", "md", "rtf", "xls", "xlsx", "ods", "csv", "ppt", "pptx", "odp",
                "epub",
            ],
            Self::Archives => &["zip", "tar", "gz", "tgz", "xz", "bz2", "7z", "rar", "zst"],
            Self::Audio => &["mp3", "flac", "ogg", "opus", "wav", "m4a", "aac"],
            Self::Video => &["mp4", "mkv", "webm", "mov", "avi", "m4v"],
            Self::Programs => &["exe", "msi", "dmg", "pkg", "deb", "rpm", "appimage", "apk"],
        }
    }

    fn of(name: &Path) -> Option<Self> {
        let extension = name.extension()?.to_str()?.to_ascii_lowercase();
        Self::ALL.into_iter().find(|kind| kind.extensions().contains(&extension.as_str()))
    }
}

/// One file of a known kind.
#[derive(Debug, Clone)]
pub(super) struct KnownFile {
    pub(super) name: OsString,
    pub(super) kind: FileKind,
    pub(super) bytes: u64,
    pub(super) changed: Option<Timestamp>,
}

/// All of them, in the order of their names.
#[derive(Debug)]
pub(super) struct KnownFiles {
    pub(super) items: Vec<KnownFile>,
}

impl KnownFiles {
    pub(super) async fn of(folder: &Path, limits: &ServingPolicy) -> Result<Self, String> {
        let unreadable = |why: std::io::Error| format!("The folder `{}` cannot be read: {why}.", folder.display());
        let mut entries = tokio::fs::read_dir(folder).await.map_err(unreadable)?;
        let mut items = Vec::new();
        while let Some(entry) = entries.next_entry().await.map_err(unreadable)? {
            let name = entry.file_name();
            let hidden = name.as_encoded_bytes().starts_with(b".");
            let Some(kind) = FileKind::of(Path::new(&name)).filter(|_| !hidden) else { continue };
            let Ok(facts) = tokio::fs::symlink_metadata(entry.path()).await else { continue };
            if !facts.is_file() {
                continue;
            }
            if items.len() >= limits.files_max {
                let most = grouped(limits.files_max as u64);
                return Err(format!(
                    "`{}` holds more than {most} files of known kinds; choose a smaller one.",
                    folder.display()
                ));
            }
            let changed = facts.modified().ok().and_then(|at| Timestamp::try_from(at).ok());
            items.push(KnownFile { name, kind, bytes: facts.len(), changed });
        }
        items.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self { items })
    }

    /// The kinds that occur, with how many files each.
    pub(super) fn kinds(&self) -> Vec<(FileKind, usize)> {
        let count = |kind| self.items.iter().filter(|item| item.kind == kind).count();
        FileKind::ALL.into_iter().map(|kind| (kind, count(kind))).filter(|(_, count)| *count > 0).collect()
    }
}
