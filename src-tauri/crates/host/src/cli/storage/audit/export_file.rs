//! A file that gets its name when it is complete and on the disk; until then it lies beside its place, under another name.
//!
//! Only the user can read it. When it is dropped unfinished, nothing is left.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use api::calls::core::data_folder::refuse_in_data_folder;
use api::{ApiError, Code};

/// An export that is being written.
pub(super) struct ExportFile {
    place: PathBuf,
    partial: PathBuf,
    writer: Option<BufWriter<File>>,
}

fn failed(path: &Path, error: &io::Error) -> ApiError {
    ApiError::new(
        Code::Failed,
        format!("`{}` cannot be written: {error}", path.display()),
        "Choose another place with `-o FILE`; no incomplete file was left.",
    )
}

impl ExportFile {
    /// Begins a file that is to lie at `place`, outside the data folder `home`.
    pub(super) fn create(place: &Path, home: &Path) -> Result<Self, ApiError> {
        let refused = |why: &str| {
            let message = format!("`{}` {why}", place.display());
            Err(ApiError::new(Code::Usage, message, "Give the path of a file with `-o FILE`."))
        };
        if place.file_name().is_none() {
            return refused("is not a file name");
        }
        refuse_in_data_folder("", place, home)?;
        // A link leads to the file that is written; a device or a pipe is never replaced by a file.
        let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => return refused("is a folder"),
            Ok(found) if !found.is_file() => return refused("is not a regular file"),
            Ok(_) | Err(_) => {}
        }
        let Some(name) = place.file_name() else { return refused("is not a file name") };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            return Err(ApiError::new(
                Code::Usage,
                format!("the folder `{}` does not exist", folder.display()),
                "Make the folder first, or give another path with `-o FILE`.",
            ));
        }
        let mut partial_name = name.to_owned();
        partial_name.push(format!(".{}.partial", std::process::id()));
        let partial = place.with_file_name(partial_name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&partial).map_err(|error| failed(&place, &error))?;
        Ok(Self { place, partial, writer: Some(BufWriter::new(file)) })
    }

    pub(super) fn write(&mut self, text: &str) -> Result<(), ApiError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write_all(text.as_bytes()).map_err(|error| failed(&self.place, &error))
    }

    /// Puts it at its place; on the disk when it returns, also after a power cut.
    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let synced = writer.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        let done = synced.and_then(|()| fs::rename(&self.partial, &self.place)).and_then(|()| {
            let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all())
        });
        done.map_err(|error| {
            // The error is told; what is left of the file is of no use.
            let _ = fs::remove_file(&self.partial);
            failed(&self.place, &error)
        })
    }
}

impl Drop for ExportFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // Nobody is left to be told.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_its_file_and_what_is_no_file_is_never_replaced() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        let create = |place: &Path| ExportFile::create(place, &at("data"));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        let nowhere = create(&at("nodir").join("report")).err().expect("it is refused");
        assert!(nowhere.message.ends_with("nodir` does not exist"), "{}", nowhere.message);
        let refused = create(&at("socket")).err().expect("it is refused");
        assert!(refused.message.ends_with("is not a regular file"), "{}", refused.message);

        fs::write(at("report"), "old").expect("written");
        std::os::unix::fs::symlink("report", at("link")).expect("linked");
        let mut file = create(&at("link")).expect("it is made");
        file.write("new").expect("written");
        file.finish().expect("it is there");
        assert_eq!(fs::read_to_string(at("report")).expect("read"), "new");
        assert!(fs::symlink_metadata(at("link")).expect("it is there").is_symlink());

        fs::create_dir(at("data")).expect("a data folder");
        fs::write(at("data").join("registry.db"), "rows").expect("a registry");
        std::os::unix::fs::symlink(at("data").join("registry.db"), at("innocent")).expect("linked");
        for place in [at("data").join("registry.db"), at("data").join("new"), at("innocent")] {
            let refused = create(&place).err().expect("it is refused");
            assert!(refused.message.contains("is in the data folder"), "{}", refused.message);
        }
        assert_eq!(fs::read_dir(at("data")).expect("a folder").count(), 1, "nothing was made there");
    }
}
