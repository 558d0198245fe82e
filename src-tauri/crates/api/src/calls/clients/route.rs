//! Routes the servers of an agent program through Taskwarden, after a person saw the lines that change.
//!
//! The route is stored first, then the file is written. Entries keep their names, so that permission lists of the program
//! stay valid; only members that say how a server is reached change. Taking routes back is in `undo.rs`.

use std::path::PathBuf;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::digest::sha256_hex;
use domain::ids::RouteId;
use domain::ports::{RouteUnit, Secret};
use domain::server::route::{ClientRoute, RouteState, RouteText};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::files::{
    BridgeEdit, ChangedLines, ClientEntry, ClientFile, EditToWrite, EntryReading, FileScope, PlannedEdit, ReplaceError,
};
use super::known::KnownServers;
use crate::api::{Api, LiveCore};
use crate::caller::Caller;
use crate::calls::agents::AddAgent;
use crate::dto::client::{ChangedLinesDto, FileEditDto, FileEditStateDto, LeftOutDto};
use crate::error::{ApiError, Code};
use crate::lookup::short;
use crate::suggestion::did_you_mean;

/// Which servers of a program are to be reached through Taskwarden.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RouteClient {
    /// The program's word, such as `claude-code`.
    pub client: String,
    /// Names of entries, or of their servers in Taskwarden; all that were imported when left out. Entries of a project
    /// are included only by name, because its file is usually shared.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub servers: Vec<String>,
    /// The project whose files are read as well.
    #[serde(default)]
    #[ts(optional = nullable)]
    pub folder: Option<String>,
    /// Fingerprints of the edits that the person was shown and agreed to; others are shown and not made.
    #[serde(default)]
    #[ts(optional, as = "Option<Vec<String>>")]
    pub agreed: Vec<String>,
}

/// What is changed, or would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct ClientRouted {
    pub client: String,
    /// The agent that the changed entries name.
    pub agent: String,
    /// Whether the agent is added, with its token in a file, before the first file is written.
    pub adds_agent: bool,
    pub files: Vec<FileEditDto>,
    /// Servers that were meant and are not among them.
    pub left_out: Vec<LeftOutDto>,
}

impl Api {
    /// Shows how the files of a program would look, and changes those that were agreed to.
    ///
    /// # Errors
    /// When no files of it were found, a named server is not in them, the agent has no token, or it cannot be recorded. A
    /// file that cannot be changed is a state, not an error.
    pub async fn client_route(&self, caller: &Caller, input: RouteClient) -> Result<ClientRouted, ApiError> {
        let live = self.live()?;
        let _one = self.changing_files.lock().await;
        self.settle_routes().await?;
        let mut files = self.client_files(input.folder.as_deref()).await?;
        let hint = did_you_mean(&input.client, files.iter().map(|file| file.client))
            .unwrap_or_else(|| "`taskwarden clients list` lists those that were found.".into());
        files.retain(|file| file.client == input.client);
        if files.is_empty() {
            let message = format!("no files of `{}` were found", short(&input.client));
            return Err(ApiError::new(Code::NotFound, message, hint));
        }
        let known = self.known_servers().await?;
        check_names(live, &files, &input.servers, &known)?;
        let agents = self.registry.agents().await?;
        let has_agent = agents.iter().any(|agent| agent.name == input.client && agent.revoked.is_none());
        if has_agent && !live.client_files.has_token(&input.client) {
            return Err(ApiError::new(
                Code::Refused,
                format!("the token of agent `{}` is in no file, so that the program could not connect", input.client),
                format!("`taskwarden agents new-token {} --save` makes a new one and saves it.", input.client),
            ));
        }
        let mut routed = ClientRouted {
            agent: input.client.clone(),
            client: input.client.clone(),
            adds_agent: !has_agent,
            files: Vec::new(),
            left_out: Vec::new(),
        };
        let mut is_agent_there = has_agent;
        for file in &files {
            let entries = meant(live, file, &input.servers, &known, &mut routed.left_out);
            if entries.is_empty() {
                continue;
            }
            let edit = BridgeEdit {
                client: input.client.clone(),
                path: file.path.clone(),
                entries,
                agent: routed.agent.clone(),
                connect: live.connect.clone(),
                home: live.connect_home.clone(),
            };
            let shown = match live.client_files.plan_route(edit.clone()).await {
                Ok(plan) => plan,
                Err(why) => {
                    routed.files.push(refused(&file.path, Some(file.scope), why));
                    continue;
                }
            };
            if !input.agreed.contains(&shown.fingerprint) {
                routed.files.push(file_edit(&file.path, Some(file.scope), &shown, FileEditStateDto::Shown));
                continue;
            }
            if !is_agent_there {
                let save = Some(true);
                let new = AddAgent { name: input.client.clone(), task_tools: None, program: None, save };
                let added = self.agent_add(caller, new).await?;
                if added.saved.is_none() {
                    return Err(ApiError::new(
                        Code::Failed,
                        "the token of the new agent could not be saved in a file",
                        format!("Revoke it with `taskwarden agents revoke {}`, and look at the log.", input.client),
                    ));
                }
                is_agent_there = true;
            }
            routed.files.push(self.route_file(caller, file, edit, shown).await?);
        }
        Ok(routed)
    }

    /// Stores the route, then writes the file.
    async fn route_file(
        &self,
        caller: &Caller,
        file: &ClientFile,
        edit: BridgeEdit,
        agreed: PlannedEdit,
    ) -> Result<FileEditDto, ApiError> {
        let live = self.live()?;
        let now = self.now();
        let backup = live.client_files.backup_path(&edit.client, now.as_millis());
        let mut route = ClientRoute {
            id: RouteId::from_random((live.draw)()),
            client: edit.client.clone(),
            path: edit.path.display().to_string(),
            agent: edit.agent.clone(),
            state: RouteState::Planned,
            entries: edit.entries.iter().filter_map(|(place, _)| place.last().cloned()).collect(),
            after_digest: sha256_hex(agreed.after.reveal()),
            backup: Some(backup.display().to_string()),
            at: now,
            by: caller.person.clone(),
            before: text_before(&agreed),
            changes: RouteText::new(agreed.changes.reveal()),
        };
        self.registry.put_route(RouteUnit { route: route.clone(), audit: Vec::new() }).await?;
        let written = live.client_files.write_edit(EditToWrite::Route { edit, backup }, agreed).await;
        let mut audit = Vec::new();
        match &written {
            Ok(written) => {
                route.state = RouteState::Applied;
                // The file may have changed elsewhere since it was shown.
                route.before = text_before(&written.plan);
                route.after_digest = sha256_hex(written.plan.after.reveal());
                audit.push(self.file_fact(caller, &route, "routed"));
            }
            Err(_) => route.state = RouteState::Undone,
        }
        self.registry.put_route(RouteUnit { route: route.clone(), audit }).await?;
        let scope = Some(file.scope);
        Ok(match written {
            Ok(written) => {
                let mut shown = file_edit(&file.path, scope, &written.plan, FileEditStateDto::Done);
                shown.restore = route.backup.as_ref().map(|backup| restore_command(backup, &route.path));
                shown.backup = route.backup;
                shown.exchanged = written.is_exchange;
                shown
            }
            Err(error) => refused(&file.path, scope, why_not(error)),
        })
    }

    /// The fact that a file was changed.
    pub(super) fn file_fact(&self, caller: &Caller, route: &ClientRoute, what: &str) -> AuditEvent {
        AuditEvent {
            at: self.now(),
            actor: Actor::Person(caller.person.clone()),
            verb: Verb::ClientFileChanged,
            subject: Subject::Store,
            note: format!("{what} {} in {}: {}", route.client, route.path, route.entries.join(", ")),
        }
    }

    /// Finds out of routes in the middle how far they came: the core may have ended between the row and the file. The
    /// caller holds [`Api::changing_files`].
    pub(super) async fn settle_routes(&self) -> Result<Vec<ClientRoute>, ApiError> {
        let live = self.live()?;
        let mut open = self.registry.open_routes().await?;
        for route in &mut open {
            let state = match route.state {
                RouteState::Applied | RouteState::Undone => continue,
                // An undo looks at every entry, so that it can be done again.
                RouteState::Undoing => {
                    live.client_files.settled_digest(PathBuf::from(&route.path)).await;
                    RouteState::Applied
                }
                RouteState::Planned => match self.is_written(live, route).await {
                    Some(true) => RouteState::Applied,
                    Some(false) => RouteState::Undone,
                    // It cannot be read now, so nothing is known.
                    None => continue,
                },
            };
            route.state = state;
            self.registry.put_route(RouteUnit { route: route.clone(), audit: Vec::new() }).await?;
        }
        open.retain(ClientRoute::is_open);
        Ok(open)
    }

    /// Whether the file of a route was written; `None` when it cannot be read.
    async fn is_written(&self, live: &LiveCore, route: &ClientRoute) -> Option<bool> {
        let path = PathBuf::from(&route.path);
        let found = live.client_files.settled_digest(path.clone()).await;
        if found.as_deref() == Some(route.after_digest.as_str()) {
            return Some(true);
        }
        // Somebody wrote it between the row and the file, or since: the entries tell.
        let gone = live.client_files.drift(route.client.clone(), path, secret(&route.changes)).await.ok()?;
        Some(gone.len() < route.entries.len())
    }
}

/// Why a file stays as it is.
pub(super) fn why_not(error: ReplaceError) -> String {
    match error {
        ReplaceError::Changed => "another program writes it at this moment; close that program and try again".into(),
        ReplaceError::Refused(why) => why,
    }
}

fn text_before(plan: &PlannedEdit) -> RouteText {
    RouteText::new(plan.before.as_ref().map_or("", Secret::reveal))
}

/// A text that is stored as the host takes it.
pub(super) fn secret(text: &RouteText) -> Secret {
    Secret::new(text.reveal())
}

/// The one command that brings the file of before back, without Taskwarden.
fn restore_command(backup: &str, path: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    format!("cp {} {}", quoted(backup), quoted(path))
}

fn check_names(live: &LiveCore, files: &[ClientFile], names: &[String], known: &KnownServers) -> Result<(), ApiError> {
    let all = || files.iter().flat_map(|file| file.entries.iter().map(move |entry| (file, entry)));
    let is_unknown = |name: &&String| all().all(|(file, entry)| !is_named(live, file, entry, name, known));
    let Some(name) = names.iter().find(is_unknown) else { return Ok(()) };
    Err(ApiError::new(
        Code::NotFound,
        format!("no file of this program has a server `{}`", short(name)),
        did_you_mean(name, all().map(|(_, entry)| entry.name.as_str()))
            .unwrap_or_else(|| "`taskwarden clients list` lists its servers.".into()),
    ))
}

fn is_named(live: &LiveCore, file: &ClientFile, entry: &ClientEntry, name: &str, known: &KnownServers) -> bool {
    entry.name == name || known.of_entry(live, file, entry).is_some_and(|server| server.name == name)
}

/// The entries of a file that are to change, each with its server; others are named with their reason.
fn meant(
    live: &LiveCore,
    file: &ClientFile,
    names: &[String],
    known: &KnownServers,
    left_out: &mut Vec<LeftOutDto>,
) -> Vec<(Vec<String>, String)> {
    let mut entries = Vec::new();
    for entry in &file.entries {
        let is_meant = match (names.is_empty(), file.scope) {
            (true, scope) => scope == FileScope::User,
            (false, _) => names.iter().any(|name| is_named(live, file, entry, name, known)),
        };
        if !is_meant {
            continue;
        }
        let why = match (&entry.reading, known.of_entry(live, file, entry)) {
            (EntryReading::Direct(_), Some(server)) => {
                entries.push((entry.place.clone(), server.name.clone()));
                continue;
            }
            (EntryReading::Routed { .. }, _) => "it is routed already".to_owned(),
            (EntryReading::Unresolved(why), _) => why.clone(),
            (EntryReading::Direct(_), None) => "it is not imported".to_owned(),
        };
        left_out.push(LeftOutDto { name: entry.name.clone(), why });
    }
    entries
}

/// A file as it is shown.
pub(super) fn file_edit(
    path: &std::path::Path,
    scope: Option<FileScope>,
    plan: &PlannedEdit,
    state: FileEditStateDto,
) -> FileEditDto {
    let lines = |lines: &ChangedLines| ChangedLinesDto {
        line: lines.line,
        removed: lines.removed.clone(),
        added: lines.added.clone(),
    };
    FileEditDto {
        path: path.display().to_string(),
        scope: scope.map(Into::into),
        state,
        problem: None,
        fingerprint: Some(plan.fingerprint.clone()),
        lines: plan.lines.iter().map(lines).collect(),
        kept: plan.kept.clone(),
        backup: None,
        restore: None,
        exchanged: true,
    }
}

/// A file that stays as it is.
pub(super) fn refused(path: &std::path::Path, scope: Option<FileScope>, why: String) -> FileEditDto {
    FileEditDto {
        path: path.display().to_string(),
        scope: scope.map(Into::into),
        state: FileEditStateDto::Refused,
        problem: Some(why),
        fingerprint: None,
        lines: Vec::new(),
        kept: Vec::new(),
        backup: None,
        restore: None,
        exchanged: true,
    }
}
