//! A person signs in to a server, and out again: what is on record, and what the server's connections learn of it.
//!
//! The wish is a row before anything is contacted; the tokens are kept before the row that says so. A core that ends in
//! between finds either at its next start and settles it. The exchange itself is behind [`ServerSignIns`].

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{PersonId, ServerId};
use domain::ports::{
    GrantedSignIn, RegistryError, Revocation, SecretError, ServerSignIns, SignInBegun, SignInFault, SignInWish,
    TokenFacts,
};
use domain::server::{Server, ServerAddress};
use domain::time::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Where the rows lie among what people keep; the key is the server.
const KIND: &str = "signIns";

/// How it is with the sign-in to a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignInStatus {
    /// What the token of the moment is, if there is one.
    pub token: TokenFacts,
    /// Who signed in, and when.
    pub by: Option<(PersonId, Timestamp)>,
    /// Why the last try in this run of the core failed.
    pub failed: Option<SignInFault>,
}

/// A sign-in that waits for the browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInStarted {
    /// What the browser opens.
    pub address: String,
    /// Whose page that is.
    pub host: String,
    /// Who gives the token: a URL.
    pub issuer: String,
    /// The permissions that are asked for.
    pub scopes: Vec<String>,
    /// When it began to wait.
    pub since: Timestamp,
    /// When the wait is over, if no browser came.
    pub until: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Begun,
    In,
    Out,
}

impl Step {
    const fn word(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::In => "in",
            Self::Out => "out",
        }
    }
}

/// The last step of a person, as its row has it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StepRow {
    step: Step,
    by: PersonId,
    at: Timestamp,
}

impl StepRow {
    fn read(text: &str) -> Option<Self> {
        let row: Value = serde_json::from_str(text).ok()?;
        let word = row.get("step")?.as_str()?;
        let step = [Step::Begun, Step::In, Step::Out].into_iter().find(|step| step.word() == word)?;
        let by = PersonId::new(row.get("by")?.as_str()?);
        Some(Self { step, by, at: Timestamp::from_millis(row.get("at")?.as_i64()?) })
    }

    fn written(&self) -> String {
        json!({"step": self.step.word(), "by": self.by.to_string(), "at": self.at.as_millis()}).to_string()
    }
}

/// Who signs in, and what is known of it.
pub(crate) struct SignInState {
    port: OnceLock<Arc<dyn ServerSignIns>>,
    rows: Mutex<HashMap<ServerId, StepRow>>,
    failed: Mutex<HashMap<ServerId, SignInFault>>,
    /// Tries that are not settled.
    running: Mutex<HashMap<ServerId, usize>>,
    /// Moves when one is.
    ended: watch::Sender<u64>,
}

impl Default for SignInState {
    fn default() -> Self {
        let (rows, failed, running) = Default::default();
        Self { port: OnceLock::new(), rows, failed, running, ended: watch::Sender::new(0) }
    }
}

impl SignInState {
    /// Whether a server waits for a person to sign in.
    pub(crate) fn is_needed(&self, server: &Server) -> bool {
        self.port.get().is_some_and(|port| port.facts(server).needed.is_some())
    }
}

fn no_sign_ins() -> EngineError {
    EngineError::SignIn(SignInFault {
        why: "this core cannot sign in to servers".into(),
        hint: "Give the server a token as the header `Authorization`.".into(),
    })
}

fn not_kept(error: &SecretError) -> EngineError {
    EngineError::SignIn(SignInFault {
        why: format!("the sign-in cannot be removed: {error}"),
        hint: "`taskwarden doctor` shows where secrets are stored and how to repair it; then sign out again.".into(),
    })
}

impl Engine {
    /// Gives the engine what signs in, and settles what an earlier core did not finish. Later calls are ignored.
    ///
    /// # Errors
    /// When the rows cannot be read or written.
    pub async fn keep_sign_ins(&self, port: Arc<dyn ServerSignIns>) -> Result<(), RegistryError> {
        let core = &self.core;
        let configured = core.registry.servers().await?;
        for item in core.registry.desk_list(KIND).await? {
            let server = configured.iter().find(|server| server.id.to_string() == item.key);
            let (Some(server), Some(row)) = (server, StepRow::read(&item.value)) else { continue };
            let has_token = port.facts(server).is_signed_in;
            core.sign_ins.rows.lock().insert(server.id, row.clone());
            match row.step {
                Step::Begun if has_token => note(core, server, Step::In, &row.by, server.name.clone()).await?,
                Step::Out if has_token => {
                    if let Err(error) = port.sign_out(server).await {
                        tracing::warn!(%error, "a token that a person gave up cannot be removed");
                    }
                }
                Step::Begun | Step::In | Step::Out => {}
            }
        }
        let _ = core.sign_ins.port.set(port);
        Ok(())
    }

    /// How it is with the sign-in to a server.
    #[must_use]
    pub fn sign_in_status(&self, server: &Server) -> SignInStatus {
        let state = &self.core.sign_ins;
        let token = state.port.get().map(|port| port.facts(server)).unwrap_or_default();
        let row = state.rows.lock().get(&server.id).cloned();
        let by = row.filter(|row| row.step == Step::In).map(|row| (row.by, row.at));
        SignInStatus { token, by, failed: state.failed.lock().get(&server.id).cloned() }
    }

    /// A person wants to sign in: finds out where, and waits for the browser.
    ///
    /// # Errors
    /// When the server is not known or nobody agreed to contact it, the wish cannot be recorded, or there is no way.
    pub async fn begin_sign_in(
        &self,
        id: ServerId,
        wish: SignInWish,
        by: &PersonId,
    ) -> Result<SignInStarted, EngineError> {
        let core = &self.core;
        let port = core.sign_ins.port.get().ok_or_else(no_sign_ins)?;
        let server = core.registry.server(id).await?.ok_or(EngineError::UnknownServer)?;
        let agreed = server.consent.as_ref().is_some_and(|given| given.fingerprint == server.address.fingerprint());
        if !agreed {
            return Err(EngineError::SignIn(SignInFault {
                why: format!("nobody agreed to contact server `{}`", server.name),
                hint: "Agree on its page, or add it again.".into(),
            }));
        }
        core.sign_ins.failed.lock().remove(&id);
        let before = core.sign_ins.rows.lock().get(&id).filter(|row| row.step == Step::In).cloned();
        note(core, &server, Step::Begun, by, server.name.clone()).await?;
        let SignInBegun { address, host, issuer, scopes, wait, outcome } = match port.begin(&server, wish).await {
            Ok(begun) => begun,
            Err(fault) => {
                note_failure(core, &server, by, before, &fault).await;
                return Err(EngineError::SignIn(fault));
            }
        };
        *core.sign_ins.running.lock().entry(id).or_default() += 1;
        let (held, by) = (Arc::clone(core), by.clone());
        core.supervisor.spawn("sign-in", async move {
            let ended = outcome.await;
            settle(&held, &server, &by, before, ended).await;
        });
        core.effects.commits.health_changed(id);
        let since = core.time.now();
        Ok(SignInStarted { address, host, issuer, scopes, since, until: since.plus(wait) })
    }

    /// Takes the address at which a browser elsewhere ended.
    ///
    /// # Errors
    /// When nothing waits, or it is not the address that ends the sign-in.
    pub async fn finish_sign_in(&self, id: ServerId, address: &str) -> Result<(), EngineError> {
        let port = self.core.sign_ins.port.get().ok_or_else(no_sign_ins)?;
        port.finish(id, address).await.map_err(EngineError::SignIn)
    }

    /// A person does not sign in after all.
    pub fn give_up_sign_in(&self, id: ServerId) {
        if let Some(port) = self.core.sign_ins.port.get() {
            port.give_up(id);
        }
    }

    /// Waits until no browser is waited for any more and what came of it is recorded, at most this long.
    pub async fn sign_in_ended(&self, server: &Server, limit: Duration) {
        let mut ended = self.core.sign_ins.ended.subscribe();
        let over = async {
            while self.core.sign_ins.running.lock().contains_key(&server.id) {
                if ended.changed().await.is_err() {
                    return;
                }
            }
        };
        // Whoever waits looks again.
        let _ = timeout(limit, over).await;
    }

    /// A person signs out: the tokens are forgotten here, and given up at the issuer.
    ///
    /// # Errors
    /// When the server is not known, it cannot be recorded, or the tokens cannot be removed.
    pub async fn sign_out(&self, id: ServerId, by: &PersonId) -> Result<Revocation, EngineError> {
        let core = &self.core;
        let port = core.sign_ins.port.get().ok_or_else(no_sign_ins)?;
        let server = core.registry.server(id).await?.ok_or(EngineError::UnknownServer)?;
        if let ServerAddress::Stdio { .. } = server.address {
            return Err(EngineError::SignIn(SignInFault {
                why: format!("server `{}` runs on this machine, and is not signed in to", server.name),
                hint: "Nothing was changed.".into(),
            }));
        }
        note(core, &server, Step::Out, by, server.name.clone()).await?;
        core.sign_ins.failed.lock().remove(&id);
        let revoked = port.sign_out(&server).await.map_err(|error| not_kept(&error))?;
        for connection in core.connections.of_server(id) {
            connection.request_sign_in(false);
        }
        core.effects.commits.health_changed(id);
        Ok(revoked)
    }

    /// A server is removed, or has another address now: the sign-in to the one before is forgotten.
    pub async fn forget_sign_in(&self, server: &Server) {
        let state = &self.core.sign_ins;
        state.rows.lock().remove(&server.id);
        state.failed.lock().remove(&server.id);
        let Some(port) = state.port.get() else { return };
        if let Err(error) = port.sign_out(server).await {
            tracing::warn!(server.name = %server.name, %error, "the tokens of a server cannot be removed");
        }
        let (kind, key) = (KIND, server.id.to_string());
        if let Err(error) = self.core.registry.desk_put(kind, &key, None, self.core.time.now()).await {
            tracing::warn!(server.name = %server.name, %error, "the row of a sign-in cannot be removed");
        }
    }
}

/// A wait for a browser ended.
async fn settle(
    core: &EngineCore,
    server: &Server,
    by: &PersonId,
    before: Option<StepRow>,
    ended: Result<Option<GrantedSignIn>, SignInFault>,
) {
    match ended {
        Ok(None) => put_back(core, server, before).await,
        Ok(Some(GrantedSignIn { issuer, scopes })) => {
            let mut words = format!("{} at {issuer}", server.name);
            if !scopes.is_empty() {
                words = format!("{words}: {}", scopes.join(" "));
            }
            let words = domain::policy::plain_text(&words, NOTE_CHARS);
            core.sign_ins.failed.lock().remove(&server.id);
            // What is not recorded now is recorded at the next start, which finds the token and the wish.
            if let Err(error) = note(core, server, Step::In, by, words).await {
                tracing::error!(server.name = %server.name, %error, "a sign-in cannot be recorded");
            }
            for connection in core.connections.of_server(server.id) {
                connection.request_sign_in(true);
            }
        }
        Err(fault) => {
            note_failure(core, server, by, before, &fault).await;
            core.sign_ins.failed.lock().insert(server.id, fault);
        }
    }
    let mut running = core.sign_ins.running.lock();
    if let Some(tries) = running.get_mut(&server.id) {
        *tries = tries.saturating_sub(1);
        if *tries == 0 {
            running.remove(&server.id);
        }
    }
    drop(running);
    core.sign_ins.ended.send_modify(|count| *count = count.wrapping_add(1));
    core.effects.commits.health_changed(server.id);
}

/// A try failed: the reason is a row of the audit log, and the sign-in of before, if there is one, goes on.
async fn note_failure(core: &EngineCore, server: &Server, by: &PersonId, before: Option<StepRow>, fault: &SignInFault) {
    let now = core.sign_ins.rows.lock().get(&server.id).cloned();
    // Without a row, the server was removed meanwhile; a row that is not of a beginning is of a later act.
    let Some(now) = now else { return };
    let row = if now.step == Step::Begun { before.unwrap_or(now) } else { now };
    let fact = AuditEvent {
        at: core.time.now(),
        actor: Actor::Person(by.clone()),
        verb: Verb::SignInFailed,
        subject: Subject::Server(server.id),
        note: domain::policy::plain_text(&format!("{}: {}", server.name, fault.why), NOTE_CHARS),
    };
    let key = server.id.to_string();
    if let Err(error) = core.registry.desk_decide(KIND, &key, Some(row.written()), vec![fact]).await {
        tracing::warn!(server.name = %server.name, %error, "a sign-in that failed cannot be recorded");
    }
    core.sign_ins.rows.lock().insert(server.id, row);
}

/// A try was given up: the sign-in of before, if there is one, goes on.
async fn put_back(core: &EngineCore, server: &Server, before: Option<StepRow>) {
    let is_ours = core.sign_ins.rows.lock().get(&server.id).is_some_and(|row| row.step == Step::Begun);
    let Some(before) = before.filter(|_| is_ours) else { return };
    let key = server.id.to_string();
    // If it cannot be stored, the next start finds wish and token, and says that it is the newer one.
    if let Err(error) = core.registry.desk_put(KIND, &key, Some(before.written()), core.time.now()).await {
        tracing::warn!(server.name = %server.name, %error, "the row of a sign-in cannot be put back");
    }
    core.sign_ins.rows.lock().insert(server.id, before);
}

/// A note of the audit log is one line. Names of permissions are the issuer's.
const NOTE_CHARS: usize = 300;

/// Records a step: the row and what the audit log says of it are one change.
async fn note(
    core: &EngineCore,
    server: &Server,
    step: Step,
    by: &PersonId,
    note: String,
) -> Result<(), RegistryError> {
    let verb = match step {
        Step::Begun => Verb::SignInBegun,
        Step::In => Verb::SignedIn,
        Step::Out => Verb::SignedOut,
    };
    let at = core.time.now();
    let row = StepRow { step, by: by.clone(), at };
    let fact = AuditEvent { at, actor: Actor::Person(by.clone()), verb, subject: Subject::Server(server.id), note };
    core.registry.desk_decide(KIND, &server.id.to_string(), Some(row.written()), vec![fact]).await?;
    core.sign_ins.rows.lock().insert(server.id, row);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_as_it_was_written() {
        for step in [Step::Begun, Step::In, Step::Out] {
            let row = StepRow { step, by: PersonId::new("ada"), at: Timestamp::from_millis(7) };
            assert_eq!(StepRow::read(&row.written()), Some(row));
        }
        assert_eq!(StepRow::read("{}"), None, "a row of another version says nothing");
    }
}
