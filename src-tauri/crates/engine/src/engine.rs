//! The engine, its parts, and how a start puts them together.
//!
//! What hosts and the api may ask of it is in `impl Engine` blocks beside the behaviour, folder by folder. The orderly
//! end is `shutdown.rs`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use domain::ids::HostId;
use domain::policy::Policy;
use domain::ports::{CallIntents, Clock, Connector, Notifier, Registry, RegistryError, TokenCounter};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use crate::access::control::ControlAccess;
use crate::access::halt_gate::HaltGate;
use crate::access::pause_gate::PauseGate;
use crate::access::{Access, presence};
use crate::attention::notices;
use crate::attention::standing_answers::StandingAnswers;
use crate::budget::{self, Budget, agent_budgets};
use crate::calls::{CallState, call_share, loop_detector, recording, show_sweep};
use crate::connections::freeze;
use crate::connections::pool::ConnectionPool;
use crate::core::EngineCore;
use crate::decisions::bulk::{self, BulkState};
use crate::decisions::deliver::Deliverer;
use crate::decisions::halt::{cancels, thaw};
use crate::decisions::{escalate, pause, revoke, shared_questions};
use crate::recovery::{interrupted_calls, restart};
use crate::runtime::clock_steps;
use crate::runtime::commit_signal::CommitSignal;
use crate::runtime::gauges::Gauges;
use crate::runtime::random::Random;
use crate::runtime::supervisor::Supervisor;
use crate::runtime::time::Time;
use crate::servers::open_connection;
use crate::servers::person_acts::server_acts;
use crate::servers::person_acts::sign_in::SignInState;
use crate::tasks::audit_log::anchors::AnchorState;
use crate::tasks::audit_log::call_receipts::{self, ReceiptState};
use crate::tasks::audit_log::checkpoints::CheckpointState;
use crate::tasks::audit_log::sinks::SinkState;
use crate::tasks::effects::Effects;
use crate::tasks::ledger::TaskLedger;
use crate::tasks::retention::RetentionState;
use crate::tasks::text_index::{self, TextIndex};
use crate::tasks::{delivery_receipts, limit_gauges, retention, sweep};

/// Draws 128 random bits; given from outside so that tests repeat.
pub type Draw = Arc<dyn Fn() -> u128 + Send + Sync>;

/// What the engine is made of.
pub struct EngineParts {
    /// The durable store of tasks, servers, agents and rules.
    pub registry: Arc<dyn Registry>,
    /// Call intents of agent calls, written before they leave.
    pub intents: Arc<dyn CallIntents>,
    /// Opens connections to servers.
    pub connector: Arc<dyn Connector>,
    /// The wall clock, steps included.
    pub clock: Arc<dyn Clock>,
    /// Shows notices to people.
    pub notifier: Arc<dyn Notifier>,
    /// Counts tokens of texts.
    pub scale: Arc<dyn TokenCounter>,
    /// Random bits for identities.
    pub draw: Draw,
    /// Every number with a unit.
    pub policy: Policy,
    /// This run of the core.
    pub host: HostId,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
}

/// The running engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) core: Arc<EngineCore>,
}

impl Engine {
    /// Takes up all work found in the registry and connects to the configured servers that have consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn start(parts: EngineParts) -> Result<Self, RegistryError> {
        let core = assemble(parts).await?;
        let counted = Arc::downgrade(&core);
        core.gauges.add(move |rows| {
            call_share::gauge(&counted, rows);
            loop_detector::gauge(&counted, rows);
            call_receipts::gauge(&counted, rows);
            agent_budgets::gauge(&counted, rows);
            limit_gauges::gauge(&counted, rows);
        });
        let servers = core.registry.servers().await?;
        // Before anything else is recorded: the first row of a run says what the run before may have lost.
        Box::pin(call_receipts::begin(&core)).await?;
        // Boxed: what they hold while they wait is large, and every start would carry it.
        Box::pin(restart::recover(&core, &servers)).await?;
        Box::pin(interrupted_calls::record(&core, &servers)).await?;
        Box::pin(interrupted_calls::find_undelivered(&core)).await?;
        Box::pin(budget::restore(&core)).await?;
        Box::pin(loop_detector::restore(&core)).await?;
        for server in servers {
            open_connection::open_shared(&core, server);
        }
        open_connection::reopen_needed(&core);
        open_connection::open_kept(&core);
        Box::pin(thaw::go_on(&core)).await;
        spawn_workers(&core);
        cancels::go_on(&core);
        escalate::go_on(&core);
        server_acts::go_on(&core).await;
        revoke::go_on(&core);
        pause::go_on(&core);
        bulk::go_on(&core).await;
        Ok(Self { core })
    }

    /// What is in use of the limits of this core; others add what they count.
    #[must_use]
    pub fn gauges(&self) -> &Gauges {
        &self.core.gauges
    }
}

async fn assemble(parts: EngineParts) -> Result<Arc<EngineCore>, RegistryError> {
    let EngineParts { registry, intents, connector, clock, notifier, scale, draw, policy, host, supervisor } = parts;
    let policy = Arc::new(policy);
    let time = Arc::new(Time::new(clock, Random::new(Arc::clone(&draw)), Arc::clone(&policy)));
    let connections = Arc::<ConnectionPool>::default();
    let commits = Arc::new(CommitSignal::new(registry.newest_seq().await?));
    let effects = Arc::new(Effects::new(Arc::clone(&connections), commits));
    let access = Arc::new(Access::read(registry.as_ref()).await?);
    let control = ControlAccess::read(registry.as_ref()).await?;
    let gate = Box::pin(HaltGate::read(registry.as_ref())).await;
    let pauses = PauseGate::read(registry.as_ref()).await?;
    let standing = StandingAnswers::read(registry.as_ref()).await?;
    let budget = Arc::new(Budget::new(scale, Arc::clone(&time), Arc::clone(&policy), Arc::clone(&access), draw));
    Ok(Arc::new(EngineCore {
        ledger: TaskLedger::new(
            Arc::clone(&registry),
            Arc::clone(&time),
            Arc::clone(&policy),
            Arc::clone(&effects),
            Arc::clone(&budget),
        ),
        registry,
        intents,
        connector,
        notifier,
        host,
        supervisor: supervisor.scope(),
        effects,
        connections,
        poll_slots: Semaphore::new(policy.reads_total),
        take_over_slots: Semaphore::new(policy.keeping.taken_over_at_once),
        gate,
        pauses,
        bulk: BulkState::default(),
        calls: CallState::new(time.now()),
        access,
        control,
        budget,
        standing,
        retention: RetentionState::new(policy.retention.clone()),
        receipts: ReceiptState::default(),
        checkpoints: CheckpointState::default(),
        anchors: AnchorState::default(),
        sinks: SinkState::default(),
        sign_ins: SignInState::default(),
        text: TextIndex::default(),
        gauges: Gauges::default(),
        stopping: AtomicBool::new(false),
        time,
        policy,
    }))
}

/// Starts what runs as long as the engine, each started again after a panic.
fn spawn_workers(core: &Arc<EngineCore>) {
    let steady = |name, make: fn(Arc<EngineCore>) -> BoxFuture<'static, ()>| {
        let held = Arc::clone(core);
        core.supervisor.spawn_steady(name, &core.policy, move || make(Arc::clone(&held)));
    };
    steady("deliver", |core| Box::pin(Deliverer::new(core).run()));
    steady("shown calls", |core| Box::pin(show_sweep::run(core)));
    steady("loop detector", |core| Box::pin(loop_detector::run(core)));
    steady("recording", |core| Box::pin(recording::run(core)));
    steady("retention", |core| Box::pin(retention::run(core)));
    steady("sweep", |core| Box::pin(sweep::run(core)));
    steady("frozen processes", |core| Box::pin(freeze::watch(core)));
    steady("clock", |core| Box::pin(clock_steps::run(core)));
    steady("shared questions", |core| Box::pin(shared_questions::run(core)));
    steady("contacts", |core| Box::pin(sweep::flush_contacts(core)));
    steady("notices", |core| Box::pin(notices::run(core)));
    steady("presences", |core| Box::pin(presence::run(core)));
    steady("receipts", |core| Box::pin(delivery_receipts::run(core)));
    steady("call receipts", |core| Box::pin(call_receipts::run(core)));
    steady("counting", |core| Box::pin(budget::flush::count(core)));
    steady("text index", |core| Box::pin(text_index::run(core)));
    steady("budget", |core| Box::pin(budget::flush::keep(core)));
}
