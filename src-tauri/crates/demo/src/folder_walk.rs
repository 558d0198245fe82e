//! Walks folders as `find -type f` does: regular files only, links never followed, bounded in number and depth.
//!
//! Folders that cannot be read are counted. File contents are read by `read_all` alone, piece by piece.

use std::path::{Path, PathBuf};

use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use tokio::io::AsyncReadExt;

/// Bytes read at a time. Judgement: large enough to keep a disk busy, small enough to stop at once.
const PIECE_BYTES: usize = 256 * 1_024;

/// What a walk found.
#[derive(Default)]
pub(crate) struct WalkedFiles {
    /// Regular files, relative to the root, in no order.
    pub(crate) files: Vec<PathBuf>,
    /// Folders below the root.
    pub(crate) folders: u64,
    /// Folders that could not be read.
    pub(crate) unreadable: u64,
}

/// The folder an argument names.
pub(crate) async fn existing(path: Option<PathBuf>) -> Result<PathBuf, String> {
    let path = path.ok_or_else(|| "The argument `path` is missing.".to_owned())?;
    match tokio::fs::metadata(&path).await {
        Ok(facts) if facts.is_dir() => Ok(path),
        Ok(_) => Err(format!("`{}` is not a folder.", path.display())),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("The folder `{}` does not exist.", path.display()))
        }
        Err(why) => Err(format!("The folder `{}` cannot be read: {why}.", path.display())),
    }
}

/// Finds all files below `root`. Calls `tell` with the number found so far, once for each folder.
pub(crate) async fn walk(root: &Path, limits: &ServingPolicy, tell: impl Fn(usize)) -> Result<WalkedFiles, String> {
    let mut found = WalkedFiles::default();
    let mut open = vec![(PathBuf::new(), 0_usize)];
    while let Some((folder, depth)) = open.pop() {
        let mut entries = match tokio::fs::read_dir(root.join(&folder)).await {
            Ok(entries) => entries,
            Err(why) if depth == 0 => return Err(format!("The folder `{}` cannot be read: {why}.", root.display())),
            Err(_) => {
                found.unreadable += 1;
                continue;
            }
        };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let Ok(kind) = entry.file_type().await else { continue };
            let path = folder.join(entry.file_name());
            if kind.is_dir() {
                found.folders += 1;
                if depth >= limits.folder_depth_max {
                    found.unreadable += 1;
                } else {
                    open.push((path, depth + 1));
                }
            } else if kind.is_file() {
                if found.files.len() >= limits.files_max {
                    let most = grouped(limits.files_max as u64);
                    return Err(format!("`{}` holds more than {most} files; name a smaller folder.", root.display()));
                }
                found.files.push(path);
            }
        }
        tell(found.files.len());
    }
    Ok(found)
}

/// Reads a file to its end, piece by piece.
pub(crate) async fn read_all(path: &Path, mut piece: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut file = tokio::fs::File::open(path).await?;
    let mut buffer = vec![0_u8; PIECE_BYTES];
    loop {
        let read = file.read(&mut buffer).await?;
        match buffer.get(..read) {
            Some([]) | None => return Ok(()),
            Some(bytes) => piece(bytes),
        }
    }
}
