/* Made-up tasks: every phase, believable words, times that fit. */
import type { InboxRow, Phase, PhaseGroup, TaskRow } from "$lib/bindings";
import { makeTokens } from "./budgets";
import { chance, iso, pick, type Chance } from "./random";

export const SERVERS = ["ci-server", "github", "warehouse", "docs", "memory-box"] as const;
const TOOLS: Readonly<Record<string, readonly string[]>> = {
  "ci-server": ["deploy_prod", "build_image", "integration_tests", "run_migrations"],
  github: ["delete_branch", "open_release_pr", "review_pull_request", "sync_labels"],
  warehouse: ["export_ledger", "nightly_import", "rebuild_stats", "backfill_orders"],
  docs: ["index_folder", "render_site", "check_links"],
  "memory-box": ["recall_memories", "compact_memories"],
};
const AGENTS = ["claude-code", "pr-reviewer", "nightly-ops", "research-7", "order-bot", null] as const;
const WORDS = [
  "Pulling the image",
  "Copying rows",
  "Waiting for a worker",
  "Running 214 tests",
  "Reading 12 of 40 files",
  "Uploading",
  "Resolving links",
  "Comparing checksums",
] as const;

export const GROUP_OF: Readonly<Record<Phase, PhaseGroup>> = {
  waiting: "needsYou",
  overdue: "needsYou",
  unconfirmed: "needsYou",
  blocked: "needsYou",
  lost: "needsYou",
  answering: "moving",
  cancelling: "moving",
  running: "moving",
  revoked: "moving",
  silent: "noNews",
  unwatched: "noNews",
  expired: "noNews",
  done: "finished",
  doneWithError: "finished",
  failed: "finished",
  cancelled: "finished",
};
const NEEDY: readonly Phase[] = ["waiting", "waiting", "waiting", "overdue", "lost", "unconfirmed"];
const OTHERS: readonly Phase[] = [
  "running",
  "running",
  "running",
  "running",
  "answering",
  "cancelling",
  "silent",
  "unwatched",
  "expired",
  "revoked",
  "done",
  "done",
  "done",
  "done",
  "doneWithError",
  "failed",
  "cancelled",
];

const MINUTE = 60_000;

/** `needy` of them wait for a person; the rest are spread over the other phases. */
export function makeRows(count: number, needy: number, now: number, seed = 7): TaskRow[] {
  const roll = chance(seed);
  return Array.from({ length: count }, (_, at) => {
    const phase = at < needy ? (NEEDY[at % NEEDY.length] ?? "waiting") : pick(OTHERS, roll());
    return makeRow(at, phase, now, roll);
  });
}

export function makeRow(at: number, phase: Phase, now: number, roll: Chance = chance(at + 1)): TaskRow {
  const server = pick(SERVERS, roll());
  const tool = pick(TOOLS[server] ?? ["run"], roll());
  const group = GROUP_OF[phase];
  const late = phase === "overdue";
  const median = (4 + Math.floor(roll() * 30)) * MINUTE;
  const created =
    now -
    Math.floor(
      (late ? median * 2.4 : roll() * median) + 20_000 + (group === "finished" ? roll() * 24 * 60 * MINUTE : 0),
    );
  const ended = group === "finished" ? Math.min(now - 4_000, created + median) : null;
  const changed = ended ?? Math.max(created, now - Math.floor(roll() * 4 * MINUTE));
  const total = roll() < 0.6 ? 100 : null;
  const row = {
    id: `hdl_${(at + 46_656 * 36).toString(36)}${seedless(at)}`,
    server,
    ...owner(pick(AGENTS, roll())),
    parentId: null,
    attempt: 1,
    orphanedAt: null,
    held: null,
    tool,
    phase,
    group,
    over: isOver(phase),
    status:
      group === "finished"
        ? phase === "failed"
          ? "failed"
          : phase === "cancelled"
            ? "cancelled"
            : "completed"
        : phase === "waiting"
          ? "input_required"
          : "working",
    statusMessage: group === "moving" || phase === "overdue" ? pick(WORDS, roll()) : null,
    progress: group === "moving" ? { done: Math.floor(roll() * 100), total, message: null } : null,
    createdAt: iso(created),
    changedAt: iso(changed),
    endedAt: ended === null ? null : iso(ended),
    pausedMs: phase === "waiting" ? 45_000 : 0,
    pausedSince: phase === "waiting" ? iso(changed) : null,
    lastSeenAt: iso(phase === "silent" || phase === "lost" ? now - 14 * MINUTE : now - 8_000),
    nextLookAt: group === "finished" || phase === "lost" || phase === "unwatched" ? null : iso(now + 22_000),
    expiresAt: group === "finished" ? null : iso(now + 55 * MINUTE),
    dueAt: late ? iso(now - 27 * MINUTE) : null,
    overdueWhy: late ? "usual" : null,
    usual: roll() < 0.75 ? { medianMs: median, p90Ms: median * 1.3, p95Ms: median * 1.5, samples: 23 } : null,
    openRequests: phase === "waiting" ? 1 : 0,
    stopState: phase === "cancelling" ? "acknowledged" : phase === "cancelled" ? "stopped" : null,
    resultBytes: phase === "done" || phase === "doneWithError" ? Math.floor(roll() * 90_000) : null,
    isError: phase === "doneWithError" || phase === "failed",
    ...saysOf(phase, at),
  } satisfies Omit<TaskRow, "tokens">;
  return { ...row, tokens: makeTokens(row, at) };
}

/** Its question, its error or the first line of its result. */
const SAYS: Readonly<Partial<Record<Phase, readonly string[]>>> = {
  waiting: [
    "How should v4.12.0 roll out?",
    "Delete release/4.11 on storefront?",
    "Allow export at id.ledgerly.example",
  ],
  done: ["26 views refreshed, none failed", "Pushed storefront:8841", "20 repositories, 4 labels added"],
  doneWithError: ["14 of 2,310 files could not be read"],
  failed: ["Database did not start: port 5432 in use"],
};
function saysOf(phase: Phase, at: number): Pick<TaskRow, "says"> {
  const lines = SAYS[phase];
  return lines === undefined ? {} : { says: pick(lines, (at % 7) / 7) };
}

const owner = (agent: string | null) => ({ agent, agentId: agent === null ? null : `agt_${agent}` });

/** As `Phase::is_over` of the core. */
export function isOver(phase: Phase): boolean {
  return GROUP_OF[phase] === "finished" || phase === "lost" || phase === "expired" || phase === "unwatched";
}

function seedless(at: number): string {
  return (Math.imul(at + 1, 2_654_435_761) >>> 0).toString(36).padStart(7, "0").slice(0, 4);
}

const QUESTIONS = [
  "Build 8841 is green. Choose how to release v4.12.0 to production. I roll back by myself if the error rate passes your limit.",
  "Which folders should I leave out of the index?",
  "The ledger of October has two entries that do not match. Tell me which one to keep.",
  "Name the reviewer for this release.",
] as const;

/** What waits, as the core would list it. Null for tasks that do not. */
export function inboxRow(row: TaskRow, at: number, now: number): InboxRow | null {
  const kind =
    row.phase === "waiting"
      ? at % 7 === 3
        ? "url"
        : at % 11 === 5
          ? "unsupported"
          : "form"
      : row.phase === "overdue"
        ? "overdue"
        : row.phase === "lost"
          ? "lost"
          : row.phase === "unconfirmed"
            ? "unconfirmed"
            : null;
  if (kind === null) return null;
  const key = kind === "form" || kind === "url" || kind === "unsupported" ? `ask-${at}` : null;
  return {
    id: `${row.id}/${key ?? kind}`,
    kind,
    task: row.id,
    key,
    server: row.server,
    tool: row.tool,
    agent: row.agent,
    message:
      key === null
        ? null
        : kind === "url"
          ? "Allow the export in your browser."
          : pick(QUESTIONS, (at % QUESTIONS.length) / QUESTIONS.length),
    host: kind === "url" ? "id.ledgerly.example" : null,
    openedAt: row.changedAt,
    deadline: at % 3 === 0 ? iso(now + (at % 30) * MINUTE + 288_000) : null,
    snoozedUntil: null,
    changedAt: row.changedAt,
    answeredBy: null,
    destructive: at % 9 === 4,
    tokens: null,
    limit: null,
    exactness: null,
    why: null,
  };
}
