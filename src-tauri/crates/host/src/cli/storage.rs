//! `taskwarden storage`: what is stored, for how long, and clean-up.
//!
//! Clean-up and lower limits first show what they remove, and ask. Only the limits decide what is removed.

pub(crate) mod audit;

use std::time::Duration;

use api::calls::Nothing;
use api::calls::core::storage::{CleanStorage, SetStorage, StorageCleaned};
use api::dto::core::storage::RemovalDto;
use api::dto::{StorageDto, moment};
use api::format::storage::{StuckStorage, bytes};
use api::format::time::{self, count, span_ms};
use api::format::tokens::grouped;
use api::{ApiError, Code};
use clap::{ArgGroup, Args, Subcommand};

use super::input::prompt;
use super::output::screen::Screen;
use super::output::sentences::{self, one_line};
use super::output::table;
use super::output::table::{TableLayout, text};
use crate::app::core_client::CoreClient;
use crate::cli::output::exit_code::{CommandResult, DONE};
use crate::config::{self, Config};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct StorageArgs {
    #[command(subcommand)]
    command: Option<StorageAction>,
}

#[derive(Debug, Subcommand)]
enum StorageAction {
    /// Show what is stored, the limits, and what cleaning up would remove now.
    Show,
    /// Set how long, and how much, is kept. Shows what a lower limit removes, and when, and asks first.
    Set(Box<Set>),
    /// Remove what exceeds the limits. Shows it and asks first.
    Clean {
        /// Do not ask for confirmation.
        #[arg(long)]
        yes: bool,
        /// Rewrite the registry afterwards, so that free space is returned to the disk. Changes wait until it is done.
        #[arg(long)]
        compact: bool,
    },
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("limit").required(true).multiple(true).args([
    "payload_age", "payload_size", "agent_size", "server_size", "task_age", "tasks", "agent_tasks", "server_tasks",
    "receipt_age", "receipts", "audit_age",
])))]
struct Set {
    /// How long arguments, results and answers are kept after their task has ended, such as `30d`.
    #[arg(long, value_name = "TIME")]
    payload_age: Option<String>,
    /// How many bytes of them, of raw messages, questions and status lines are kept in total, such as `2GiB`. The oldest
    /// are removed first.
    #[arg(long, value_name = "SIZE")]
    payload_size: Option<String>,
    /// How many bytes of all that are kept per agent.
    #[arg(long, value_name = "SIZE")]
    agent_size: Option<String>,
    /// How many bytes of all that are kept per server.
    #[arg(long, value_name = "SIZE")]
    server_size: Option<String>,
    /// How long tasks are kept after they have ended, such as `400d`.
    #[arg(long, value_name = "TIME")]
    task_age: Option<String>,
    /// How many tasks are kept in total. Those that ended first are removed first; open ones are never removed.
    #[arg(long, value_name = "COUNT")]
    tasks: Option<u64>,
    /// How many tasks are kept per agent. When none of them can be removed, its calls are refused.
    #[arg(long, value_name = "COUNT")]
    agent_tasks: Option<u64>,
    /// How many tasks are kept per server. When none of them can be removed, calls to it are refused.
    #[arg(long, value_name = "COUNT")]
    server_tasks: Option<u64>,
    /// How long receipts of agents' calls are kept, such as `90d`; never longer than the audit log, which keeps what it has
    /// of them.
    #[arg(long, value_name = "TIME")]
    receipt_age: Option<String>,
    /// How many receipts are kept in total. The oldest are removed first.
    #[arg(long, value_name = "COUNT")]
    receipts: Option<u64>,
    /// How long the audit log is kept, such as `400d`. Old entries are removed together, oldest first.
    #[arg(long, value_name = "TIME")]
    audit_age: Option<String>,
    /// Do not ask for confirmation.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(storage: StorageArgs, config: &Config, screen: &Screen) -> CommandResult {
    match storage.command.unwrap_or(StorageAction::Show) {
        StorageAction::Show => {
            let shown: StorageDto =
                CoreClient::attach_or_read(config).await?.request("storage.show", &Nothing {}).await?;
            print(&shown, screen)
        }
        StorageAction::Set(input) => set(*input, config, screen).await,
        StorageAction::Clean { yes, compact } => clean(yes, compact, config, screen).await,
    }
}

impl Set {
    fn read(self) -> Result<SetStorage, ApiError> {
        Ok(SetStorage {
            payload_age_ms: age("--payload-age", self.payload_age)?,
            payload_bytes: size("--payload-size", self.payload_size)?,
            agent_payload_bytes: size("--agent-size", self.agent_size)?,
            server_payload_bytes: size("--server-size", self.server_size)?,
            task_age_ms: age("--task-age", self.task_age)?,
            tasks: self.tasks,
            agent_tasks: self.agent_tasks,
            server_tasks: self.server_tasks,
            receipt_age_ms: age("--receipt-age", self.receipt_age)?,
            receipts: self.receipts,
            audit_age_ms: age("--audit-age", self.audit_age)?,
            preview: false,
        })
    }
}

/// Sets limits. Where something would go that is within the limits of now, it is shown first.
async fn set(input: Set, config: &Config, screen: &Screen) -> CommandResult {
    let (yes, input) = (input.yes, input.read()?);
    let core = CoreClient::attach(config)?;
    if !yes {
        let now: StorageDto = core.request("storage.show", &Nothing {}).await?;
        let then: StorageDto = core.request("storage.set", &SetStorage { preview: true, ..input.clone() }).await?;
        if let (Some(until), true) = (waits_until(&then), !is_nothing(&then.due) && then.due != now.due) {
            let question = format!("These limits remove {}, not before {until}. Set them?", removal(&then.due));
            prompt::confirm(&question, "the limits were not set", screen).await?;
        }
    }
    let shown: StorageDto = core.request("storage.set", &input).await?;
    print(&shown, screen)
}

/// Until when what exceeds lowered limits stays: `2026-11-27T10:05:00.000Z (in 5 min)`.
fn waits_until(shown: &StorageDto) -> Option<String> {
    let until = shown.waits_until.as_ref()?;
    let left = moment(until).map(|at| time::until(at, sentences::now()));
    Some(left.map_or_else(|| until.clone(), |left| format!("{until} ({left})")))
}

fn age(flag: &str, text: Option<String>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    let ms = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    config::span(&text).map(ms).map(Some).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            format!("`{flag}` needs a duration; `{}` is not one", one_line(&text)),
            "Give a number and a unit (`d`, `h`, `min` or `s`), such as `30d`.",
        )
    })
}

fn size(flag: &str, text: Option<String>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text else { return Ok(None) };
    const UNITS: [(&str, u32); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let found = UNITS.iter().find_map(|(unit, power)| Some((text.trim().strip_suffix(unit)?, *power)));
    let (digits, power) = found.unwrap_or((text.trim(), 0));
    let bytes = digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(1 << power));
    bytes.map(Some).ok_or_else(|| {
        ApiError::new(
            Code::Usage,
            format!("`{flag}` needs a size; `{}` is not one", one_line(&text)),
            "Give a whole number of bytes, or one with the unit `KiB`, `MiB` or `GiB`, such as `500MiB`.",
        )
    })
}

async fn clean(yes: bool, compact: bool, config: &Config, screen: &Screen) -> CommandResult {
    let core = CoreClient::attach(config)?;
    let before: StorageDto = core.request("storage.show", &Nothing {}).await?;
    if is_nothing(&before.due) && !compact {
        if screen.is_json() {
            screen.json(&StorageCleaned { removed: before.due, storage: before })?;
        } else {
            screen.line(&nothing_due(&before));
        }
        return Ok(DONE);
    }
    if !yes {
        let what = removal(&before.due);
        prompt::confirm(&format!("Remove {what}?"), &format!("{what} were not removed"), screen).await?;
    }
    let cleaned: StorageCleaned = core.request("storage.clean", &CleanStorage { compact }).await?;
    if screen.is_json() {
        screen.json(&cleaned)?;
    } else {
        screen.line(&format!(
            "Removed {}. The registry now has {}.",
            removal(&cleaned.removed),
            bytes(cleaned.storage.file_bytes)
        ));
    }
    Ok(DONE)
}

fn is_nothing(removal: &RemovalDto) -> bool {
    *removal == RemovalDto::default()
}

fn removal(of: &RemovalDto) -> String {
    let mut parts = Vec::new();
    if of.payload_tasks > 0 {
        parts.push(format!("contents of {} ({})", count(of.payload_tasks, "task"), bytes(of.payload_bytes)));
    }
    if of.tasks > 0 {
        parts.push(format!("{} with everything that belongs to them", count(of.tasks, "task")));
    }
    if of.receipts > 0 {
        parts.push(count(of.receipts, "receipt"));
    }
    if of.audit_rows > 0 {
        parts.push(count(of.audit_rows, "audit row"));
    }
    if parts.is_empty() { "nothing".into() } else { parts.join(", ") }
}

fn print(shown: &StorageDto, screen: &Screen) -> CommandResult {
    if screen.is_json() {
        return screen.json(shown);
    }
    let stored = &shown.stored;
    let kinds = [
        (
            "tasks",
            stored.tasks,
            format!(
                "{} after they have ended; {} in total, {} per agent, {} per server",
                span_ms(shown.limits.task_age_ms),
                grouped(shown.limits.tasks),
                grouped(shown.limits.agent_tasks),
                grouped(shown.limits.server_tasks)
            ),
        ),
        ("  protected", stored.kept_tasks, "while open, held, unanswered or undelivered".into()),
        ("payloads", stored.payloads, format!("{} after their task has ended", span_ms(shown.limits.payload_age_ms))),
        ("raw messages", stored.raw_messages, "with their task".into()),
        ("questions", stored.questions, "with their task".into()),
        ("status lines", stored.status_lines, "with their task".into()),
        ("change rows", stored.changes, "for feeds".into()),
        (
            "receipts",
            stored.receipts,
            format!(
                "{}, never longer than audit rows; {} in total",
                span_ms(shown.limits.receipt_age_ms),
                grouped(shown.limits.receipts)
            ),
        ),
        ("audit rows", stored.audit, format!("{}, oldest first", span_ms(shown.limits.audit_age_ms))),
    ];
    let rows = kinds
        .into_iter()
        .map(|(name, kind, limit)| {
            let size = kind.bytes.map(bytes).unwrap_or_default();
            vec![text(name), text(grouped(kind.rows)), text(size), text(limit)]
        })
        .collect();
    table::print(screen, TableLayout { header: &["KIND", "ROWS", "SIZE", "KEPT"], cut: &["KEPT"], spare: &[] }, rows);
    screen.line(&format!(
        "\nPayloads, raw messages, questions and status lines have {} of {} in total, {} per agent, {} per server.",
        bytes(shown.content_bytes),
        bytes(shown.limits.payload_bytes),
        bytes(shown.limits.agent_payload_bytes),
        bytes(shown.limits.server_payload_bytes)
    ));
    screen.line(&format!(
        "The registry has {}, {} of it free; the reserve has {} of {}.",
        bytes(shown.file_bytes),
        bytes(shown.free_bytes),
        bytes(shown.reserve_bytes),
        bytes(shown.reserve_wanted_bytes)
    ));
    if !shown.shrinks {
        screen.line("Free space is not returned to the disk yet. Run `taskwarden storage clean --compact` once.");
    }
    screen.line(&exceeds(shown));
    Ok(DONE)
}

/// What exceeds the limits, when it goes, and what can be done.
fn exceeds(shown: &StorageDto) -> String {
    if is_nothing(&shown.due) {
        return stuck(shown).unwrap_or_else(|| "Nothing exceeds the limits.".into());
    }
    let what = format!("Exceeds the limits: {}.", removal(&shown.due));
    let due = match waits_until(shown) {
        Some(until) => format!(
            "{what}\nNothing is removed because of the lower limits before {until}: until then, \
             `taskwarden storage set` with the earlier limits keeps everything. `taskwarden storage clean` removes it now."
        ),
        None => format!("{what} `taskwarden storage clean` removes it now."),
    };
    match stuck(shown) {
        Some(stuck) => format!("{due}\n{stuck}"),
        None => due,
    }
}

/// What exceeds a limit and cannot be removed, and what can be done: the words of `doctor`.
fn stuck(shown: &StorageDto) -> Option<String> {
    StuckStorage::of(shown).map(|stuck| format!("Exceeds the limits: {}. {}", stuck.message, stuck.cure))
}

/// Why a clean-up removes nothing.
fn nothing_due(shown: &StorageDto) -> String {
    stuck(shown).unwrap_or_else(|| "Nothing exceeds the limits. `taskwarden storage` shows them.".into())
}

#[cfg(test)]
mod tests {
    use api::dto::core::storage::{StorageLimitsDto, StoredDto, StoredKindDto};
    use domain::policy::RetentionPolicy;

    use super::*;

    /// Nothing that clean-up would remove, and this of tasks that no limit removes.
    fn kept(rows: u64, bytes: u64) -> StorageDto {
        let policy = RetentionPolicy { tasks: 1_000, payload_bytes: 4 << 20, ..RetentionPolicy::default() };
        let limits = StorageLimitsDto::from(&policy);
        StorageDto {
            file_bytes: 0,
            free_bytes: 0,
            shrinks: true,
            reserve_bytes: 0,
            reserve_wanted_bytes: 0,
            oldest_task: None,
            stored: StoredDto { kept_tasks: StoredKindDto { rows, bytes: Some(bytes) }, ..StoredDto::default() },
            content_bytes: bytes,
            removed_segments: 0,
            limits: limits.clone(),
            built_in: limits,
            due: RemovalDto::default(),
            waits_until: None,
        }
    }

    #[test]
    fn what_is_above_a_limit_and_cannot_be_removed_is_told_with_why_and_what_to_do() {
        assert_eq!(exceeds(&kept(1_000, 4 << 20)), "Nothing exceeds the limits.");
        let why = "cannot be removed while the tasks are open, held, unanswered or undelivered.";
        for (shown, what, option) in [
            (kept(1_001, 0), "1,001 tasks of at most 1,000", "--tasks"),
            (kept(9, 5 << 20), "5 MiB of contents of tasks, of at most 4 MiB,", "--payload-size"),
        ] {
            let stuck = StuckStorage::of(&shown).expect("it is above a limit");
            assert!(stuck.cure.ends_with(&format!("`taskwarden storage set {option}`.")), "{}", stuck.cure);
            for told in [exceeds(&shown), nothing_due(&shown)] {
                assert_eq!(told, format!("Exceeds the limits: {what} {why} {}", stuck.cure));
            }
            let due = RemovalDto { tasks: 1, ..RemovalDto::default() };
            let both = exceeds(&StorageDto { due, ..shown });
            assert!(both.contains("1 task with everything") && both.contains(why), "both are told: {both}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        let read = |text: &str| size("--agent-size", Some(text.into()));
        assert_eq!(read("2GiB").ok(), Some(Some(2 << 30)));
        assert_eq!(read("512 MiB").ok(), Some(Some(512 << 20)));
        assert_eq!(read("100").ok(), Some(Some(100)));
        let error = read("2 GB").expect_err("anything else is refused");
        assert!(error.message.contains("--agent-size"), "the flag is named as it was typed: {error:?}");
        assert!(error.hint.contains("`KiB`, `MiB` or `GiB`"), "the units are named: {error:?}");
        assert!(read("99999999999GiB").is_err());
    }

    #[test]
    fn what_goes_is_told_in_full() {
        let all = RemovalDto { payload_tasks: 2, payload_bytes: 3 << 20, tasks: 1, receipts: 256, audit_rows: 4_096 };
        assert_eq!(
            removal(&all),
            "contents of 2 tasks (3 MiB), 1 task with everything that belongs to them, 256 receipts, 4,096 audit rows"
        );
        assert_eq!(removal(&RemovalDto::default()), "nothing");
    }
}
