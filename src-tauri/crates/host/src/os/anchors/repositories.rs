//! Anchors in git repositories: a branch of its own, with one commit for each checkpoint.
//!
//! The note is the body of the commit's message and its only file, so that `git log` alone gives a file of anchors and a
//! site that shows the repository shows the newest note. Objects and the branch are written by plumbing commands: no
//! working tree, index or hook of the repository takes part. The program `git` does the work, as its owner configured it;
//! it is never asked for anything at a terminal, and ends with its time.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use domain::policy::{AuditPolicy, plain_text};
use domain::ports::{AnchorPlaceFault, LogHead};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::head_of;

/// The branch, as git names it in full.
const BRANCH: &str = "refs/heads/taskwarden-checkpoints";
/// Where it is noted which commit was pushed last; the name of the remote follows.
const PUSHED: &str = "refs/taskwarden/pushed/";
/// The one file of each commit.
const FILE: &str = "checkpoint";
/// Nothing of the repository's own configuration that runs programs, and all that is written is on the disk.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.fsync=all",
    "core.askPass=",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "user.name=Taskwarden",
    "user.email=taskwarden@localhost",
];
/// What of the surroundings may tell git how to reach a remote; the other variables of git would name other places.
const KEPT_VARIABLES: &[&str] = &["GIT_SSH", "GIT_SSH_COMMAND"];

/// Longest words of git in a sentence. Judgement: one line.
const WORDS_CHARS: usize = 160;

/// The branches that get copies.
pub(super) struct AnchorRepositories {
    /// How long one command of git may last.
    limit: Duration,
    /// How much of what it prints is read.
    read_bytes: u64,
}

/// A command of git that ended.
struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
}

impl Ended {
    /// The only line that it printed, or what it says went wrong.
    fn line(self, what: &str) -> Result<String, AnchorPlaceFault> {
        if self.status.success() { Ok(self.out.trim_end().to_owned()) } else { Err(self.failed(what)) }
    }

    fn failed(&self, what: &str) -> AnchorPlaceFault {
        // `ssh` says what is wrong before git says that something is.
        const TELLING: &[&str] = &["ssh:", "Permission denied", "Host key", "[rejected]", "fatal:", "error:"];
        let tells = |line: &&str| TELLING.iter().any(|word| line.contains(word));
        let line = self.err.lines().find(tells).or_else(|| self.err.lines().next()).unwrap_or("nothing");
        AnchorPlaceFault::Unreachable(format!("{what}; git says: {}", plain_text(line.trim(), WORDS_CHARS)))
    }
}

impl AnchorRepositories {
    pub(super) fn new(policy: &AuditPolicy) -> Self {
        Self { limit: policy.anchor_limit, read_bytes: policy.anchor_tail_bytes }
    }

    /// The head of the note of the branch's last commit, checked with these keys. What was not pushed is pushed first.
    pub(super) async fn newest(
        &self,
        repository: &Path,
        remote: Option<&str>,
        keys: &[String],
    ) -> Result<Option<LogHead>, AnchorPlaceFault> {
        self.check(repository).await?;
        let Some(tip) = self.commit_at(repository, BRANCH).await? else { return Ok(None) };
        let head = head_of(&self.note_of(repository, &tip).await?, keys)?;
        if let Some(remote) = remote {
            self.push(repository, remote, &tip).await?;
        }
        Ok(head)
    }

    /// Proves that the branch can be written, and that nobody works on it.
    pub(super) async fn prepare(&self, repository: &Path, remote: Option<&str>) -> Result<(), AnchorPlaceFault> {
        self.check(repository).await?;
        let trees = self.git(repository, &["worktree", "list", "--porcelain"], "").await?;
        if trees.out.lines().any(|line| line == format!("branch {BRANCH}")) {
            return Err(AnchorPlaceFault::NotOurs(
                "has the branch `taskwarden-checkpoints` checked out; check out another one, or name a bare repository"
                    .into(),
            ));
        }
        if let Some(remote) = remote {
            let known = self.git(repository, &["remote"], "").await?;
            if !known.out.lines().any(|line| line == remote) {
                return Err(AnchorPlaceFault::NotOurs(format!(
                    "has no remote `{}`; `git remote` lists them",
                    plain_text(remote, WORDS_CHARS)
                )));
            }
        }
        // The empty tree: git keeps it once.
        self.git(repository, &["mktree"], "").await?.line("cannot be written").map(drop)
    }

    /// Commits a note on top of the branch, and pushes it.
    pub(super) async fn append(
        &self,
        repository: &Path,
        remote: Option<&str>,
        size: u64,
        note: &str,
    ) -> Result<(), AnchorPlaceFault> {
        const UNWRITTEN: &str = "cannot be written";
        let before = self.commit_at(repository, BRANCH).await?;
        let blob = self.git(repository, &["hash-object", "-w", "--stdin"], note).await?.line(UNWRITTEN)?;
        let tree =
            self.git(repository, &["mktree"], &format!("100644 blob {blob}\t{FILE}\n")).await?.line(UNWRITTEN)?;
        let mut commit = vec!["commit-tree", &tree, "-F", "-"];
        if let Some(before) = &before {
            commit.extend(["-p", before]);
        }
        let message = format!("Checkpoint of row {size}\n\n{note}");
        let tip = self.git(repository, &commit, &message).await?.line(UNWRITTEN)?;
        // Only from where it was read: another core, or a person, may have gone on with it.
        let update = ["update-ref", "-m", "checkpoint", BRANCH, &tip, before.as_deref().unwrap_or_default()];
        self.git(repository, &update, "").await?.line(UNWRITTEN)?;
        if let Some(remote) = remote {
            self.push(repository, remote, &tip).await?;
        }
        // As after any commit, git packs what has become too much; it decides when, and does it beside.
        self.git(repository, &["gc", "--auto", "--quiet"], "").await.map(drop)
    }

    /// Whether it is a repository that git works with.
    async fn check(&self, repository: &Path) -> Result<(), AnchorPlaceFault> {
        let found = self.git(repository, &["rev-parse", "--git-dir"], "").await?;
        if found.status.success() {
            return Ok(());
        }
        if found.err.contains("not a git repository") {
            return Err(AnchorPlaceFault::NotOurs("is no git repository; `git init --bare FOLDER` makes one".into()));
        }
        Err(found.failed("cannot be used"))
    }

    /// The commit that a reference names; `None` where there is no such reference.
    async fn commit_at(&self, repository: &Path, reference: &str) -> Result<Option<String>, AnchorPlaceFault> {
        let found = self.git(repository, &["for-each-ref", "--format=%(objectname)", reference], "").await?;
        let commit = found.line("cannot be read")?;
        Ok(Some(commit).filter(|commit| !commit.is_empty()))
    }

    /// The note in the message of a commit.
    async fn note_of(&self, repository: &Path, commit: &str) -> Result<String, AnchorPlaceFault> {
        let commit = self.git(repository, &["cat-file", "commit", commit], "").await?;
        let commit = if commit.status.success() { commit.out } else { return Err(commit.failed("cannot be read")) };
        // Behind the headers, and behind the subject.
        let body = commit.splitn(3, "\n\n").nth(2);
        body.map(str::to_owned).ok_or_else(|| {
            AnchorPlaceFault::NotOurs("has a commit without a checkpoint on the branch `taskwarden-checkpoints`".into())
        })
    }

    /// Pushes the branch, unless this commit of it was pushed already.
    async fn push(&self, repository: &Path, remote: &str, tip: &str) -> Result<(), AnchorPlaceFault> {
        let noted = format!("{PUSHED}{remote}");
        if self.commit_at(repository, &noted).await?.as_deref() == Some(tip) {
            return Ok(());
        }
        let branch = format!("{BRANCH}:{BRANCH}");
        let what = format!("has the checkpoint, and it was not pushed to `{remote}`");
        self.git(repository, &["push", "--quiet", remote, &branch], "").await?.line(&what)?;
        self.git(repository, &["update-ref", &noted, tip], "").await?.line("cannot be written").map(drop)
    }

    /// Runs git in a repository, with this as its input.
    async fn git(&self, repository: &Path, arguments: &[&str], input: &str) -> Result<Ended, AnchorPlaceFault> {
        let named = arguments.first().copied().unwrap_or_default();
        let mut command = Command::new("git");
        command.arg("-C").arg(repository);
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).args(arguments);
        for (name, _) in std::env::vars_os() {
            let is_of_git =
                name.to_str().is_some_and(|name| name.starts_with("GIT_") && !KEPT_VARIABLES.contains(&name));
            if is_of_git {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("SSH_ASKPASS_REQUIRE", "never");
        command.env_remove("SSH_ASKPASS");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C is for the core, and a password is not asked for at its terminal.
        #[cfg(unix)]
        command.process_group(0);
        match tokio::time::timeout(self.limit, run(command, input, self.read_bytes)).await {
            Ok(Ok(ended)) => Ok(ended),
            Ok(Err(error)) if error.kind() == ErrorKind::NotFound => {
                Err(AnchorPlaceFault::Unreachable("needs the program `git`, which is not installed".into()))
            }
            Ok(Err(error)) => Err(AnchorPlaceFault::Unreachable(format!("cannot be used: `git {named}`: {error}"))),
            Err(_) => Err(AnchorPlaceFault::Unreachable(format!(
                "did not finish: `git {named}` was ended after {} s",
                self.limit.as_secs()
            ))),
        }
    }
}

/// Starts a program, gives it its input and reads no more than this of each of its outputs.
async fn run(mut command: Command, input: &str, most: u64) -> io::Result<Ended> {
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // What it does not read is said by how it ends.
            drop(stdin.write_all(input.as_bytes()).await);
        }
    };
    let ((), out, err) = tokio::join!(write, beginning(stdout, most), beginning(stderr, most));
    Ok(Ended { out: out?, err: err?, status: child.wait().await? })
}

async fn beginning(output: Option<impl AsyncRead + Unpin>, most: u64) -> io::Result<String> {
    let mut read = Vec::new();
    if let Some(output) = output {
        output.take(most).read_to_end(&mut read).await?;
    }
    Ok(String::from_utf8_lossy(&read).into_owned())
}

/// All notes of a repository, the oldest first, as a file of anchors has them.
///
/// # Errors
/// When git cannot be started, or what it says.
pub(crate) fn notes_of_repository(repository: &Path) -> Result<String, String> {
    let arguments = ["log", "--reverse", "--no-show-signature", "--encoding=UTF-8", "--format=%b", BRANCH];
    let ran = std::process::Command::new("git").arg("-C").arg(repository).args(arguments).env("LC_ALL", "C").output();
    let ran = ran.map_err(|error| format!("`git` cannot be started: {error}"))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let words = String::from_utf8_lossy(&ran.stderr);
    Err(plain_text(words.lines().next().unwrap_or("git failed").trim(), WORDS_CHARS))
}
