//! What the core itself can say about its health.
//!
//! Facts of the registry and, with a running core, of its servers; `host::doctor` grades them and adds the rest (directory,
//! disk, keychain, processes). A caller that is not proven to be a person gets no names of servers and agents.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::checkpoints::VerifyTree;
use super::limits::LimitRow;
use super::storage::VerifyAudit;
use crate::api::Api;
use crate::caller::{Ability, Caller};
use crate::calls::Nothing;
use crate::calls::clients::DriftedFile;
use crate::dto::core::anchor::AnchorDto;
use crate::dto::core::audit::TreeVerifiedDto;
use crate::dto::core::receipt::ReceiptsVerifiedDto;
use crate::dto::core::sink::SinkDto;
use crate::dto::halt::HaltShown;
use crate::dto::{AgentFacts, AgentsAt, AuditRecheckedDto, AuditVerifiedDto, RecordingDto, ServerDto, StorageDto};
use crate::error::ApiError;

/// Facts of a registry and, with a running core, of its servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct CoreFacts {
    /// The version of the program that answers.
    pub version: String,
    /// Its process, when a core runs.
    pub process: Option<u32>,
    /// What and where the registry is.
    pub registry: String,
    pub schema: i64,
    /// Tasks in it.
    pub tasks: u64,
    /// Open questions in it.
    pub open_requests: u64,
    /// Audit rows in it.
    pub audit_rows: u64,
    pub bytes: u64,
    /// What its check found; empty is good.
    pub findings: Vec<String>,
    /// Where secrets lie, when a core runs.
    pub secrets: Option<String>,
    /// Facts that name servers and agents; null for a caller that is not proven to be a person.
    pub named: Option<NamedFacts>,
    /// Where agents reach it over HTTP, when a core runs.
    pub agents_at: Option<AgentsAt>,
    /// Whether it records changes, when a core runs.
    pub recording: Option<RecordingDto>,
    /// What is stored.
    pub storage: StorageDto,
    /// How far its audit log is verified; what is new since the last check was checked for this.
    pub audit: AuditVerifiedDto,
    /// Rows of it that were verified before, verified again for this: some of them each time, and all of them in turn.
    pub rechecked: AuditRecheckedDto,
    /// How receipts of calls compare with it: some of them each time, and all of them in turn.
    pub receipts: ReceiptsVerifiedDto,
    /// How its newest checkpoints compare with the rows.
    pub checkpoints: TreeVerifiedDto,
    /// Where its checkpoints are copied to, when a core runs.
    pub anchors: Vec<AnchorDto>,
}

/// The part of [`CoreFacts`] that names servers, agents and collectors. Shown to people only (ruling 26).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct NamedFacts {
    /// Every configured server.
    pub servers: Vec<ServerDto>,
    /// Every agent, also revoked ones.
    pub agents: Vec<AgentFacts>,
    /// What is in use of the limits, when a core runs. Scopes name servers and agents.
    pub limits: Vec<LimitRow>,
    /// What is halted.
    pub halt: HaltShown,
    /// Files of agent programs that do not stand as they were routed.
    pub drifted: Vec<DriftedFile>,
    /// Where rows of the audit log are sent to. An address may hold a key.
    pub sinks: Vec<SinkDto>,
}

/// What a core has taken up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "camelCase")]
pub struct StartupSummary {
    pub servers: u64,
    /// Tasks that are not over.
    pub open_tasks: u64,
    /// Open questions, counted up to the rows of a page.
    pub open_requests: u64,
}

impl Api {
    /// What a core has taken up; quick also with a large registry, unlike [`Api::doctor`], which checks it.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn startup_summary(&self) -> Result<StartupSummary, ApiError> {
        let many = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Ok(StartupSummary {
            servers: many(self.registry.servers().await?.len()),
            open_tasks: self.registry.open_count(None).await?,
            open_requests: self.registry.inbox(0, 1).await?.total,
        })
    }

    /// Facts for `doctor`.
    ///
    /// # Errors
    /// When the registry cannot be read at all.
    pub async fn doctor(&self, caller: &Caller, input: Nothing) -> Result<CoreFacts, ApiError> {
        let facts = self.registry.facts().await?;
        let named = match caller.require(Ability::Read) {
            Ok(()) => Some(self.named_facts(caller, input).await?),
            Err(_) => None,
        };
        let live = self.live().ok();
        let recording = match live {
            Some(_) => Some(self.recording(caller, Nothing {}).await?),
            None => None,
        };
        let was_verified = self.registry.audit_verified().await?.is_some();
        let audit = self.audit_verify(caller, VerifyAudit::default()).await?;
        // Otherwise all rows are verified for the first time now.
        let rechecked =
            if was_verified { self.audit_reverify(audit.verified_to).await? } else { AuditRecheckedDto::default() };
        Ok(CoreFacts {
            version: env!("CARGO_PKG_VERSION").into(),
            process: live.map(|_| std::process::id()),
            registry: facts.place,
            schema: facts.schema,
            tasks: facts.tasks,
            open_requests: facts.open_requests,
            audit_rows: facts.audit_rows,
            bytes: facts.bytes,
            findings: facts.findings,
            secrets: live.map(|live| live.secrets.describe()),
            named,
            agents_at: live.map(|live| (live.agents_at)()),
            recording,
            storage: self.storage_show(caller, Nothing {}).await?,
            audit,
            rechecked,
            receipts: self.audit_recheck_receipts().await?,
            checkpoints: self.audit_verify_tree(caller, VerifyTree::default()).await?,
            anchors: live.map_or_else(Vec::new, |live| live.engine.anchors().into_iter().map(AnchorDto::of).collect()),
        })
    }
    async fn named_facts(&self, caller: &Caller, input: Nothing) -> Result<NamedFacts, ApiError> {
        Ok(NamedFacts {
            servers: self.server_list(caller, input).await?.servers,
            agents: self.all_agents().await?,
            limits: self.limits_show(caller, Nothing {}).await?.rows,
            halt: self.halt_show(caller, Nothing {}).await?,
            drifted: if self.is_running() { self.check_routes().await? } else { Vec::new() },
            sinks: self.audit_sinks(caller, Nothing {}).await?.sinks,
        })
    }
}
