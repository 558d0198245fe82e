//! Finds the program of a server's command: a name becomes a full path when a person agrees to it, and never again
//! later.
//!
//! What is found is an executable file; symbolic links are kept, because updates move their targets. It runs nothing,
//! and does not remember the content of the file (decision 0017).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ports::{Clock, Registry, RegistryError, ServerUnit};
use domain::server::{Consent, Server, ServerAddress};

/// The full path of a command as this process would find it. A relative path starts in `folder`.
pub(crate) fn locate(command: &str, folder: Option<&Path>) -> Option<String> {
    locate_in(command, folder, std::env::var_os("PATH").as_deref())
}

fn locate_in(command: &str, folder: Option<&Path>, path: Option<&OsStr>) -> Option<String> {
    let given = Path::new(command);
    let found = if given.is_absolute() {
        given.to_owned()
    } else if given.components().count() > 1 || command.starts_with("./") {
        // Rebuilt from its parts, so that `./server` becomes a plain path.
        folder?.join(given).components().collect()
    } else {
        let folders = std::env::split_paths(path?).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(given)).find(|path| is_program(path))?
    };
    if !found.is_absolute() || !is_program(&found) {
        return None;
    }
    found.into_os_string().into_string().ok()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

// Not run here.
#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file() || path.with_extension("exe").is_file()
}

/// The folder in which a server runs: its own, or the home folder.
pub(crate) fn folder_of(cwd: Option<&str>) -> Option<PathBuf> {
    cwd.map(PathBuf::from).or_else(std::env::home_dir)
}

/// Gives servers whose consent is for a bare name, as earlier versions recorded it, the full path of their command. A
/// server whose command is not found stays as it is and is not run.
pub(crate) async fn complete(registry: &dyn Registry, clock: &dyn Clock) -> Result<(), RegistryError> {
    for server in registry.servers().await? {
        let Some(server) = completed(&server, locate) else { continue };
        tracing::info!(server.name = %server.name, "the command of a server was found and recorded with its full path");
        let fact = AuditEvent {
            at: clock.now(),
            actor: Actor::System("compose"),
            verb: Verb::ServerAllowed,
            subject: Subject::Server(server.id),
            note: format!("{}: its command was recorded with its full path", server.name),
        };
        registry.put_server(ServerUnit { server, audit: vec![fact] }).await?;
    }
    Ok(())
}

/// The server with a full path, if it has none and its command is found.
fn completed(server: &Server, locate: impl Fn(&str, Option<&Path>) -> Option<String>) -> Option<Server> {
    let ServerAddress::Stdio { command, cwd, .. } = &server.address else { return None };
    let agreed = server.consent.as_ref().filter(|given| given.fingerprint == server.address.fingerprint())?;
    if Path::new(command).is_absolute() {
        return None;
    }
    let found = locate(command, folder_of(cwd.as_deref()).as_deref())?;
    let address = server.address.with_command(found);
    let fingerprint = address.fingerprint();
    // What was learnt about the program still applies: it is the same program.
    let verdict = server
        .verdict
        .clone()
        .map(|verdict| domain::server::EraVerdict { fingerprint: fingerprint.clone(), ..verdict });
    let consent = Some(Consent { fingerprint, ..agreed.clone() });
    Some(Server { address, consent, verdict, ..server.clone() })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use domain::ids::{PersonId, ServerId};
    use domain::time::Timestamp;

    use super::*;

    fn program(folder: &Path, name: &str, mode: u32) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(name), "#!/bin/sh\n")?;
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode))
    }

    #[test]
    fn a_name_becomes_the_path_of_the_first_program_on_the_search_path() {
        let dir = tempfile::tempdir().expect("a folder");
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        program(&first, "server", 0o644).expect("a file that cannot run");
        program(&second, "server", 0o755).expect("a program");
        program(&dir.path().join("relative"), "server", 0o755).expect("a program");
        let path = std::env::join_paths([Path::new("relative"), Path::new(""), &first, &second]).expect("a path");
        let expected = second.join("server").display().to_string();
        assert_eq!(locate_in("server", None, Some(&path)), Some(expected.clone()), "not a file that cannot run");
        assert_eq!(locate_in("other", None, Some(&path)), None);
        assert_eq!(locate_in("./server", Some(&second), None), Some(expected.clone()), "from the server's folder");
        assert_eq!(locate_in("./server", None, Some(&path)), None, "and from nowhere else");
        assert_eq!(locate_in(&expected, None, None), Some(expected), "a full path stays");
    }

    #[test]
    fn an_agreement_to_a_bare_name_becomes_one_to_the_path_and_nothing_else_does() {
        let address = ServerAddress::Stdio {
            command: "npx".into(),
            args: vec!["server".into()],
            env: std::collections::BTreeMap::new(),
            secret_env: Vec::new(),
            cwd: None,
        };
        let now = Timestamp::from_millis(1);
        let consent = Consent { by: PersonId::new("ada"), at: now, fingerprint: address.fingerprint() };
        let id = ServerId::from_random(1);
        let server = Server {
            id,
            name: "files".into(),
            address,
            consent: Some(consent),
            generation: 0,
            verdict: None,
            negotiated: None,
            created: now,
        };
        let found = |_: &str, _: Option<&Path>| Some("/usr/bin/npx".to_owned());
        let after = completed(&server, found).expect("it is completed");
        let ServerAddress::Stdio { command, args, .. } = &after.address else { panic!("still a command") };
        assert_eq!((command.as_str(), args.as_slice()), ("/usr/bin/npx", ["server".to_owned()].as_slice()));
        let consent = after.consent.clone().expect("agreed");
        assert_eq!((consent.by, consent.fingerprint), (PersonId::new("ada"), after.address.fingerprint()));
        assert_eq!(completed(&after, found), None, "once");
        assert_eq!(completed(&server, |_, _| None), None, "what is not found stays");
        assert_eq!(completed(&Server { consent: None, ..server }, found), None, "and nobody agrees by this");
    }
}
