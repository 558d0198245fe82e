//! The core's side of kept children: start a keeper with a child, or resume one that an earlier core left (ruling 16).
//!
//! A resumed child gets no second handshake: the result of the first is in the state that the keeper holds. Calls of
//! the earlier core come back with the link, and its unanswered questions are asked again. Where no keeper can run,
//! `stdio.rs` owns the child itself. The keeper is the crate `keeper`.

mod delivery_log;
mod freeze_orders;
mod keeper_link;
mod line_outlet;
mod line_writer;

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::Abilities;
use domain::server::Era;
use futures::StreamExt;
use keeper::{
    ConnectOutcome, KeeperClient, KeeperConnection, KeeperProgram, KeeperStartError, Launch, RuntimeDir, end_child_of,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::StartedChild;
use crate::upstream::transport::line_connection::LineEra;
use crate::upstream::transport::link::{Answer, LinkError, OpenedLink, RequestTag, ResumedCall, ResumedChild};
use crate::upstream::transport::pending_requests::PendingRequest;
use crate::upstream::transport::request_params::{LEGACY_VERSIONS, MODERN_VERSION};
use crate::upstream::transport::{OpenContext, OpenError};
use delivery_log::Note;
use keeper_link::KeeperLink;

pub(crate) use keeper_link::Kept;

/// What a core leaves for the next one. The keeper does not read it.
#[derive(Serialize, Deserialize)]
struct KeptState {
    fingerprint: String,
    modern: bool,
    version: String,
    hello: Box<RawValue>,
    session: String,
    /// What it was told that its agent can be asked. Earlier versions did not keep it.
    #[serde(default)]
    abilities: KeptAbilities,
}

/// [`Abilities`], as they are kept.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct KeptAbilities {
    sampling: bool,
    roots: bool,
    elicitation: bool,
}

impl From<Abilities> for KeptAbilities {
    fn from(Abilities { sampling, roots, elicitation }: Abilities) -> Self {
        Self { sampling, roots, elicitation }
    }
}

impl From<KeptAbilities> for Abilities {
    fn from(KeptAbilities { sampling, roots, elicitation }: KeptAbilities) -> Self {
        Self { sampling, roots, elicitation }
    }
}

/// Which keeper a child belongs to.
pub(crate) struct Belongs<'a> {
    pub(crate) program: &'a KeeperProgram,
    /// Names what is kept: the server, and whose connection it is.
    pub(crate) name: &'a str,
}

/// Ids and tags of each core of one child begin this far apart: none of them ever means a request of another.
const IDS_PER_CORE_BITS: u32 = 36;
/// So many cores of one child have ids of their own; all stay whole numbers that any JSON reader holds exactly.
const CORES_WITH_IDS: u64 = 1 << 16;

/// What it took to start this child, as a digest: another configuration is another child. Only ever in memory.
fn fingerprint(name: &str, launch: &Launch) -> String {
    let secrets: Vec<_> = launch.secret_env.iter().map(|(name, secret)| (name, secret.reveal())).collect();
    let all = serde_json::json!([name, launch.command, launch.args, launch.env, secrets, launch.cwd]);
    Sha256::digest(all.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Resumes the child that an earlier core left, if there is one and it is the one that is wanted.
///
/// # Errors
/// When another core has it.
pub(crate) async fn resume(
    launch: &Launch,
    belongs: &Belongs<'_>,
    ctx: &OpenContext,
) -> Result<Option<OpenedLink>, OpenError> {
    let wanted = fingerprint(belongs.name, launch);
    let client = client(belongs, ctx);
    let mut resumed = None;
    let mut unwanted = Vec::new();
    for dir in RuntimeDir::all_of(&belongs.program.dir, belongs.name) {
        let connection = match client.connect(&dir).await {
            ConnectOutcome::Connected(connection) => *connection,
            ConnectOutcome::Taken => {
                return Err(OpenError::Unreachable {
                    why: format!("`{}` is held by another core", launch.command),
                    hint: "Stop the other core; Taskwarden tries again automatically.".into(),
                });
            }
            // Whoever wants nothing but what is kept ends it, and says so.
            ConnectOutcome::Unanswered if ctx.kept_only => continue,
            ConnectOutcome::Unanswered => {
                dir.clear_after(&ctx.policy).await;
                continue;
            }
        };
        let state = connection.hello.state.as_deref().and_then(|text| serde_json::from_str::<KeptState>(text).ok());
        let fits = state.filter(|state| resumed.is_none() && state.fingerprint == wanted);
        let version = fits.as_ref().and_then(|state| known_version(state.modern, &state.version));
        if let (Some(state), Some(version)) = (fits, version) {
            tracing::info!(child.name = %launch.command, "took up a child that was kept");
            resumed = Some(opened(launch, connection, state, version, ctx));
        } else {
            unwanted.push(connection);
        }
    }
    if resumed.is_none() && ctx.kept_only {
        return Ok(None);
    }
    for connection in unwanted {
        tracing::debug!(child.name = %launch.command, "a kept child is not the one that is wanted; it is ended");
        end_child_of(connection, ctx.policy.child_close_wait + ctx.policy.child_term_wait * 2).await;
    }
    Ok(resumed)
}

fn known_version(modern: bool, version: &str) -> Option<&'static str> {
    if modern {
        return (version == MODERN_VERSION).then_some(MODERN_VERSION);
    }
    LEGACY_VERSIONS.into_iter().find(|known| *known == version)
}

fn opened(
    launch: &Launch,
    connection: KeeperConnection,
    state: KeptState,
    version: &'static str,
    ctx: &OpenContext,
) -> OpenedLink {
    let base = connection.hello.visit.saturating_sub(1).min(CORES_WITH_IDS - 1) << IDS_PER_CORE_BITS;
    let notes: Vec<Note> = connection.hello.notes.iter().filter_map(|(id, text)| Note::read(*id, text)).collect();
    let begun = KeeperLink::new(launch, connection, ctx);
    begun.link.pending.begin_above(base);
    let (era, speech) =
        if state.modern { (Era::Modern, LineEra::Modern(version)) } else { (Era::Legacy, LineEra::Legacy) };
    let _ = begun.link.speech.set(speech);
    let calls = notes.into_iter().map(|note| regain(&begun, note)).collect();
    let pid = begun.pid;
    let link = Arc::clone(&begun.link);
    let inbound = begun.listen();
    OpenedLink {
        link,
        inbound: inbound.boxed(),
        era,
        version: version.to_owned(),
        hello: state.hello,
        session: Some(state.session),
        resumed: true,
        child: Some(pid),
        regained: Some(ResumedChild { abilities: state.abilities.into(), first_tag: base + 1, calls }),
    }
}

fn regain(begun: &KeeperLink, note: Note) -> ResumedCall {
    let Note { id, ticket, tag, augment } = note;
    let place = begun.link.pending.adopt(id, tag);
    begun.kept.adopt(&note);
    ResumedCall { ticket, tag, augment, answer: Box::pin(late_answer(place)) }
}

/// Starts a keeper with its child.
pub(crate) async fn start(
    launch: &Launch,
    belongs: &Belongs<'_>,
    ctx: &OpenContext,
) -> Result<StartedChild, KeeperStartError> {
    let connection = client(belongs, ctx).start(belongs.name, launch).await?;
    let started = KeeperLink::new(launch, connection, ctx);
    let (link, heard, pid) = (Arc::clone(&started.link), started.heard.clone(), started.pid);
    let kept = Arc::clone(&started.kept);
    tracing::debug!(child.name = %launch.command, child.pid = pid, "started a child process with a keeper");
    Ok(StartedChild { link, inbound: started.listen().boxed(), heard, pid, kept: Some(kept) })
}

fn client<'a>(belongs: &'a Belongs<'_>, ctx: &'a OpenContext) -> KeeperClient<'a> {
    KeeperClient { program: belongs.program, policy: &ctx.policy, draw: &*ctx.draw, supervisor: &ctx.supervisor }
}

/// The answer to a request of an earlier core, however late it comes.
async fn late_answer(mut pending: PendingRequest) -> Result<Answer, LinkError> {
    (&mut pending.answer).await.unwrap_or_else(|_| {
        Err(LinkError::Broken {
            why: "the connection ended".into(),
            hint: "Taskwarden reconnects automatically.".into(),
            sent: true,
        })
    })
}

/// What the handshake with a child agreed on.
pub(crate) struct Agreed<'a> {
    pub(crate) era: Era,
    pub(crate) version: &'a str,
    pub(crate) hello: &'a RawValue,
    pub(crate) session: &'a str,
    pub(crate) abilities: Abilities,
}

/// Leaves the keeper the state that the next core needs to resume this child.
pub(crate) fn leave_state(kept: &Kept, launch: &Launch, name: &str, agreed: &Agreed<'_>) {
    let modern = match agreed.era {
        Era::Modern => true,
        Era::Legacy | Era::LegacySse => false,
    };
    let state = KeptState {
        fingerprint: fingerprint(name, launch),
        modern,
        version: agreed.version.to_owned(),
        hello: agreed.hello.to_owned(),
        session: agreed.session.to_owned(),
        abilities: agreed.abilities.into(),
    };
    if let Ok(text) = serde_json::to_vec(&state) {
        kept.leave_state(text);
    }
}

impl Note {
    /// Reads what an earlier core wrote.
    fn read(id: u64, text: &str) -> Option<Self> {
        let (ticket, tag, augment): (String, u64, bool) = serde_json::from_str(text).ok()?;
        Some(Self { id, ticket: ticket.parse::<HandleId>().ok()?, tag: RequestTag(tag), augment })
    }

    /// As it is kept.
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(&(self.ticket.to_string(), self.tag.0, self.augment)).unwrap_or_default()
    }
}
