//! The core's side of kept children: start a keeper, or take up one that an earlier core left (ruling 16).
//!
//! A child that is taken up is not greeted again: what was agreed is in the state that the keeper holds. Calls of
//! the earlier core come back with the link, its unanswered questions come again as they were asked. Where no keeper
//! can work, `stdio.rs` holds the child itself, as it does without one.

mod books;
mod key;
pub(super) mod place;
mod talk;
mod wire;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use domain::ids::HandleId;
use domain::policy::Policy;
use domain::server::Era;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::time::{Instant, sleep, timeout};

use super::Started;
use super::keep::frame::{Frame, Frames, Kind};
use super::keep::order::{Hello, Order, Report};
use super::keep::proof::{self, Challenges, Role};
use super::spawn::{Launch, inherited};
use crate::link::{Opened, Regained, RegainedCall, Tag};
use crate::transport::duplex::Speech;
use crate::transport::params::{LEGACY_VERSIONS, MODERN_VERSION};
use crate::transport::{OpenContext, OpenError};
use books::Note;
use place::Place;

pub use key::KeeperKey;
pub(super) use wire::Kept;

/// Ids and tags of each core of one child begin this far apart: none of them ever means a request of another.
const IDS_PER_CORE_BITS: u32 = 36;
/// So many cores of one child have ids of their own; all stay whole numbers that any JSON reader holds exactly.
const CORES_WITH_IDS: u64 = 1 << 16;

/// How `taskwarden keep` is started, and where keepers live.
#[derive(Debug, Clone)]
pub struct KeeperProgram {
    /// The program with its arguments; the folder of the keeper follows.
    pub command: Vec<String>,
    /// Folders of keepers; only for this user.
    pub dir: PathBuf,
    /// What each keeper's secret is made from.
    pub key: KeeperKey,
}

/// What a core leaves for the next one. The keeper does not read it.
#[derive(Serialize, Deserialize)]
struct State {
    fingerprint: String,
    modern: bool,
    version: String,
    hello: Box<RawValue>,
    session: String,
}

/// Which keeper a child belongs to.
pub(super) struct Belongs<'a> {
    pub(super) program: &'a KeeperProgram,
    /// Names what is kept: the server, and whose connection it is.
    pub(super) name: &'a str,
}

/// Why there is no child behind a keeper.
pub(super) enum NotKept {
    /// The child cannot be started, kept or not.
    Child(OpenError),
    /// No keeper can work here; why.
    Keeper(String),
}

/// What it took to start this child, as a digest: another configuration is another child. Only ever in memory.
fn fingerprint(name: &str, launch: &Launch) -> String {
    let secrets: Vec<_> = launch.secret_env.iter().map(|(name, secret)| (name, secret.reveal())).collect();
    let all = serde_json::json!([name, launch.command, launch.args, launch.env, secrets, launch.cwd]);
    Sha256::digest(all.to_string().as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes up the child that an earlier core left, if there is one and it is the one that is wanted.
///
/// # Errors
/// When another core has it.
pub(super) async fn take_up(
    launch: &Launch,
    belongs: &Belongs<'_>,
    ctx: &OpenContext,
) -> Result<Option<Opened>, OpenError> {
    let wanted = fingerprint(belongs.name, launch);
    let mut taken = None;
    for place in Place::all_of(&belongs.program.dir, belongs.name) {
        let (hello, frames, to) = match reach(&place, &belongs.program.key, ctx).await {
            Reached::Keeper(hello, frames, to) => (hello, frames, to),
            Reached::Taken => {
                return Err(OpenError::Unreachable {
                    why: format!("`{}` is held by another core", launch.command),
                    hint: "Stop the other core; it is tried again by itself.".into(),
                });
            }
            Reached::Nobody => {
                place.clear_after(&ctx.policy).await;
                continue;
            }
        };
        let state = hello.state.as_deref().and_then(|text| serde_json::from_str::<State>(text).ok());
        let fits = state.filter(|state| taken.is_none() && state.fingerprint == wanted);
        let version = fits.as_ref().and_then(|state| known_version(state.modern, &state.version));
        if let (Some(state), Some(version)) = (fits, version) {
            tracing::info!(child.name = %launch.command, "took up a child that was kept");
            taken = Some(opened(launch, hello, (frames, to), state, version, ctx));
        } else {
            tracing::debug!(child.name = %launch.command, "a kept child is not the one that is wanted; it is ended");
            talk::end(frames, to, ctx.policy.child_close_wait + ctx.policy.child_term_wait * 2).await;
        }
    }
    Ok(taken)
}

fn known_version(modern: bool, version: &str) -> Option<&'static str> {
    if modern {
        return (version == MODERN_VERSION).then_some(MODERN_VERSION);
    }
    LEGACY_VERSIONS.into_iter().find(|known| *known == version)
}

type Streams = (Frames<OwnedReadHalf>, tokio::net::unix::OwnedWriteHalf);

fn opened(
    launch: &Launch,
    hello: Hello,
    streams: Streams,
    state: State,
    version: &'static str,
    ctx: &OpenContext,
) -> Opened {
    let base = hello.visit.saturating_sub(1).min(CORES_WITH_IDS - 1) << IDS_PER_CORE_BITS;
    let notes: Vec<Note> = hello.notes.iter().filter_map(|(id, text)| Note::read(*id, text)).collect();
    let begun = wire::begin(launch, &hello, streams, ctx);
    begun.link.board.begin_above(base);
    let (era, speech) =
        if state.modern { (Era::Modern, Speech::Modern(version)) } else { (Era::Legacy, Speech::Legacy) };
    let _ = begun.link.speech.set(speech);
    let calls = notes.into_iter().map(|note| regain(&begun, note)).collect();
    let pid = begun.pid;
    let link = Arc::clone(&begun.link);
    let inbound = begun.listen();
    Opened {
        link,
        inbound: inbound.boxed(),
        era,
        version: version.to_owned(),
        hello: state.hello,
        session: Some(state.session),
        resumed: true,
        child: Some(pid),
        regained: Some(Regained { first_tag: base + 1, calls }),
    }
}

fn regain(begun: &wire::Begun, note: Note) -> RegainedCall {
    let Note { id, ticket, tag, augment } = note;
    let place = begun.link.board.adopt(id, tag);
    begun.kept.adopt(&note);
    RegainedCall { ticket, tag, augment, answer: Box::pin(talk::answer(place)) }
}

/// Starts a keeper with its child.
pub(super) async fn start(launch: &Launch, belongs: &Belongs<'_>, ctx: &OpenContext) -> Result<Started, NotKept> {
    let Some(place) = Place::new(&belongs.program.dir, belongs.name, (ctx.draw)()) else {
        return Err(NotKept::Keeper("the path of the data directory is too long for another socket".into()));
    };
    let limit = ctx.policy.keeping.greeting_limit;
    match timeout(limit, order(launch, belongs, &place, ctx)).await {
        Ok(Ok(Report::Running)) => {}
        Ok(Ok(Report::NotStarted { why, hint })) => return Err(NotKept::Child(OpenError::NotFound { why, hint })),
        Ok(Ok(Report::Unable { why })) => return Err(NotKept::Keeper(why)),
        Ok(Err(error)) => return Err(NotKept::Keeper(error.to_string())),
        Err(_) => return Err(NotKept::Keeper(format!("it did not begin within {} s", limit.as_secs()))),
    }
    match reach(&place, &belongs.program.key, ctx).await {
        Reached::Keeper(hello, frames, to) => {
            let begun = wire::begin(launch, &hello, (frames, to), ctx);
            let (link, heard, pid, kept) =
                (Arc::clone(&begun.link), begun.heard.clone(), begun.pid, Arc::clone(&begun.kept));
            tracing::debug!(child.name = %launch.command, child.pid = pid, "started a child process with a keeper");
            Ok(Started { link, inbound: begun.listen().boxed(), heard, pid, kept: Some(kept) })
        }
        Reached::Taken | Reached::Nobody => Err(NotKept::Keeper("it does not answer".into())),
    }
}

/// Starts the program, gives it the order, and hears what it reports.
async fn order(launch: &Launch, belongs: &Belongs<'_>, place: &Place, ctx: &OpenContext) -> std::io::Result<Report> {
    let (program, args) =
        belongs.program.command.split_first().ok_or_else(|| std::io::Error::other("no program is named"))?;
    let mut command = tokio::process::Command::new(program);
    command.args(args).arg(place.folder()).env_clear().envs(inherited()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut keeper = command.spawn()?;
    let (stdin, stdout) = (keeper.stdin.take(), keeper.stdout.take());
    // Dropped, it is left alone; the runtime takes note of its end.
    ctx.supervisor.spawn("keeper", async move {
        let _ = keeper.wait().await;
    });
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err(std::io::Error::other("it was started without pipes"));
    };
    let nonce = format!("{:032x}", (ctx.draw)());
    let secret = belongs.program.key.secret(&nonce);
    let order = Order::of(launch, &ctx.policy, &secret, &nonce);
    let order = serde_json::to_vec(&order).map_err(std::io::Error::other)?;
    stdin.write_all(&order).await?;
    stdin.shutdown().await?;
    drop(stdin);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await?;
    serde_json::from_str(&line).map_err(std::io::Error::other)
}

enum Reached {
    Keeper(Hello, Frames<OwnedReadHalf>, tokio::net::unix::OwnedWriteHalf),
    /// Another core is there, and stays.
    Taken,
    /// No keeper answers.
    Nobody,
}

/// Connects to a keeper and hears its greeting. A core that is just ending is waited for, and so is room at the door.
async fn reach(place: &Place, key: &KeeperKey, ctx: &OpenContext) -> Reached {
    let keeping = &ctx.policy.keeping;
    let until = Instant::now() + keeping.handover_limit;
    loop {
        let Ok(Ok(knocked)) = timeout(keeping.greeting_limit, knock(place, key, &ctx.policy)).await else {
            return Reached::Nobody;
        };
        match knocked {
            Knocked::Keeper(hello, frames, to) => return Reached::Keeper(hello, frames, to),
            Knocked::Stranger => {
                tracing::warn!("what answers in the place of a keeper does not know its secret; it is left alone");
                return Reached::Nobody;
            }
            Knocked::Busy if Instant::now() >= until => return Reached::Taken,
            Knocked::Full if Instant::now() >= until => return Reached::Nobody,
            Knocked::Busy | Knocked::Full => sleep(ctx.policy.child_group_look).await,
        }
    }
}

/// What came of one attempt.
enum Knocked {
    Keeper(Hello, Frames<OwnedReadHalf>, tokio::net::unix::OwnedWriteHalf),
    /// Another core is there.
    Busy,
    /// It closed before it said anything.
    Full,
    /// It cannot prove that it is the keeper, or is one of an earlier version, which could not.
    Stranger,
}

async fn knock(place: &Place, key: &KeeperKey, policy: &Policy) -> std::io::Result<Knocked> {
    let stream = UnixStream::connect(place.socket()).await?;
    let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
    let (from, mut to) = stream.into_split();
    let mut frames = Frames::new(from, Order::frame_bytes(policy));
    let Some(first) = frames.next().await? else { return Ok(Knocked::Full) };
    let asked = proof::Challenge::try_from(&*first.body).ok().filter(|_| first.kind == Kind::Challenge);
    let (Some(keeper), Some(peer), Some(nonce), Some(core)) = (asked, peer, place.nonce(), proof::challenge()) else {
        return Ok(Knocked::Stranger);
    };
    let (secret, challenges) = (key.secret(&nonce), Challenges { keeper, core });
    let own = secret.prove(Role::Core, std::process::id(), &challenges);
    let mut bytes = Vec::new();
    Frame::new(Kind::Proof, 0, [core, own].concat()).put(&mut bytes);
    to.write_all(&bytes).await?;
    let Some(second) = frames.next().await? else { return Ok(Knocked::Stranger) };
    if second.kind == Kind::Busy {
        return Ok(Knocked::Busy);
    }
    let hello = serde_json::from_slice::<Hello>(&second.body).ok().filter(|_| second.kind == Kind::Hello);
    let is_keeper = |hello: &Hello| {
        proof::from_hex(&hello.proof).is_some_and(|proof| secret.accepts(&proof, Role::Keeper, peer, &challenges))
    };
    Ok(hello.filter(is_keeper).map_or(Knocked::Stranger, |hello| Knocked::Keeper(hello, frames, to)))
}

/// What is left for the next core, once it is known who the child is.
pub(super) fn leave_word(
    kept: &Kept,
    (launch, name): (&Launch, &str),
    (era, version): (Era, &str),
    hello: &RawValue,
    session: &str,
) {
    let modern = match era {
        Era::Modern => true,
        Era::Legacy | Era::LegacySse => false,
    };
    let state = State {
        fingerprint: fingerprint(name, launch),
        modern,
        version: version.to_owned(),
        hello: hello.to_owned(),
        session: session.to_owned(),
    };
    if let Ok(text) = serde_json::to_vec(&state) {
        kept.leave_word(text);
    }
}

impl Note {
    /// Reads what an earlier core wrote.
    fn read(id: u64, text: &str) -> Option<Self> {
        let (ticket, tag, augment): (String, u64, bool) = serde_json::from_str(text).ok()?;
        Some(Self { id, ticket: ticket.parse::<HandleId>().ok()?, tag: Tag(tag), augment })
    }

    /// As it is kept.
    fn text(&self) -> Vec<u8> {
        serde_json::to_vec(&(self.ticket.to_string(), self.tag.0, self.augment)).unwrap_or_default()
    }
}
