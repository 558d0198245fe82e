/* Made-up tasks: every phase, believable words, times that fit. */
import type { InboxRow, Phase, PhaseGroup, TaskRow } from "$lib/bindings";
import { makeTokens } from "./budgets";
import { chance, iso, pick, type Chance } from "./random";

export const SERVERS = ["ci-server", "github", "warehouse", "docs", "memory-box"] as const;
export const TOOL_NAMES: Readonly<Record<string, readonly string[]>> = {
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
const NEEDY: readonly (Phase | "held")[] = ["waiting", "waiting", "waiting", "overdue", "lost", "unconfirmed", "held"];
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
    const need = at < needy ? (NEEDY[at % NEEDY.length] ?? "waiting") : pick(OTHERS, roll());
    return need === "held" ? heldRow(at, now, roll) : makeRow(at, need, now, roll);
  });
}

/** A result that is too long for what is free in the window of its agent: the fullest of the design. */
function heldRow(at: number, now: number, roll: Chance): TaskRow {
  const row = makeRow(at, "done", now, roll);
  const [created, ended] = [iso(now - 41 * MINUTE), iso(now - 11 * MINUTE)];
  const own: TaskRow = {
    ...row,
    server: "docs",
    tool: "index_folder",
    ...owner("research-7"),
    group: "needsYou",
    createdAt: created,
    changedAt: ended,
    endedAt: ended,
    workedMs: 30 * MINUTE,
    worksSince: null,
    resultBytes: 245_608,
    says: "6,900 files indexed",
    held: {
      at: ended,
      by: "limit",
      verdict: null,
      why: "doesNotFit",
      tokens: HELD_TOKENS,
      limit: null,
      program: null,
      free: 36_792,
    },
  };
  const tokens = makeTokens(own, 0);
  return {
    ...own,
    tokens: tokens && {
      ...tokens,
      result: HELD_TOKENS,
      inWindow: HELD_TOKENS,
      inWindowExactness: "exact",
      delivered: 0,
    },
  };
}
const HELD_TOKENS = 61_402;

export function makeRow(at: number, phase: Phase, now: number, roll: Chance = chance(at + 1)): TaskRow {
  const server = pick(SERVERS, roll());
  const tool = pick(TOOL_NAMES[server] ?? ["run"], roll());
  const group = GROUP_OF[phase];
  const late = phase === "overdue";
  const median = (4 + Math.floor(roll() * 30)) * MINUTE;
  // A server that was not heard of for so long had the task before.
  const quiet = phase === "silent" || phase === "lost" ? 14 * MINUTE : 8_000;
  const created =
    now -
    quiet -
    Math.floor(
      (late ? median * 2.4 : roll() * median) + 20_000 + (group === "finished" ? roll() * 24 * 60 * MINUTE : 0),
    );
  const ended = group === "finished" ? Math.min(now - 4_000, created + median) : null;
  const changed = ended ?? Math.max(created, now - Math.floor(roll() * 4 * MINUTE) - (quiet > MINUTE ? quiet : 0));
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
    lastSeenAt: iso(now - quiet),
    nextLookAt: group === "finished" || phase === "lost" || phase === "unwatched" ? null : iso(now + 22_000),
    expiresAt: group === "finished" ? null : iso(now + 55 * MINUTE),
    dueAt: late ? iso(created + median * 1.5) : null,
    overdueWhy: late ? "usual" : null,
    usual: roll() < 0.75 || late ? { medianMs: median, p90Ms: median * 1.3, p95Ms: median * 1.5, samples: 23 } : null,
    openRequests: phase === "waiting" ? 1 : 0,
    stopState: phase === "cancelling" ? "acknowledged" : phase === "cancelled" ? "stopped" : null,
    resultBytes: phase === "done" || phase === "doneWithError" ? Math.floor(roll() * 90_000) : null,
    isError: phase === "doneWithError" || phase === "failed",
    ...saysOf(phase, server, at),
  } satisfies Omit<TaskRow, "tokens" | "workedMs" | "worksSince">;
  return { ...row, ...workOf(row), tokens: makeTokens(row, at) };
}

type Times = Pick<
  TaskRow,
  "phase" | "over" | "createdAt" | "changedAt" | "endedAt" | "lastSeenAt" | "pausedMs" | "pausedSince"
>;

/** How long a task worked, as the core counts it (`TaskHandle::work_time`). */
export function workOf(task: Times): Pick<TaskRow, "workedMs" | "worksSince"> {
  const isOutOfReach = task.phase === "lost" || task.phase === "unconfirmed" || task.phase === "expired";
  const stopped =
    task.endedAt ?? (isOutOfReach ? task.lastSeenAt : (task.pausedSince ?? (task.over ? task.changedAt : null)));
  const end = Date.parse(stopped ?? task.changedAt);
  return {
    workedMs: Math.max(0, end - Date.parse(task.createdAt) - task.pausedMs),
    worksSince: stopped === null ? task.changedAt : null,
  };
}

/** Its question, its error or the first line of its result. */
const SAYS: Readonly<Partial<Record<Phase, readonly string[]>>> = {
  done: ["26 views refreshed, none failed", "Pushed storefront:8841", "20 repositories, 4 labels added"],
  doneWithError: ["14 of 2,310 files could not be read"],
  failed: ["Database did not start: port 5432 in use"],
};
function saysOf(phase: Phase, server: string, at: number): Pick<TaskRow, "says"> {
  if (phase === "waiting") return { says: questionOf(server, at).message };
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

/** By server: each asks for what its form offers. */
const QUESTIONS: Readonly<Record<string, string>> = {
  "ci-server":
    "Build 8841 is green. Choose how to release v4.12.0 to production. I roll back by myself if the error rate passes your limit.",
  github: "The labels of 20 repositories are ready. Choose how to roll them out.",
  warehouse: "The new statistics are computed. Choose how to switch the views over.",
  docs: "The new search index is built. Choose how to release it.",
  "memory-box": "1,204 memories can be merged. Choose how to roll this out.",
};

/** What a waiting task asks, in the list of tasks and in the inbox alike. */
function questionOf(server: string, at: number): { kind: InboxRow["kind"]; message: string } {
  if (at % 7 === 3) return { kind: "url", message: "Allow the export in your browser." };
  return {
    kind: at % 11 === 5 ? "unsupported" : "form",
    message: QUESTIONS[server] ?? "The build is ready. Choose how to release it.",
  };
}

/** What waits, as the core would list it. Null for tasks that do not. */
export function inboxRow(row: TaskRow, at: number, now: number): InboxRow | null {
  const isHeld = row.held !== null && row.held.verdict === null;
  const asked = row.phase === "waiting" ? questionOf(row.server, at) : null;
  const kind = asked?.kind ?? (isHeld ? "held" : (TROUBLE[row.phase] ?? null));
  if (kind === null) return null;
  const key = asked === null ? null : `ask-${at}`;
  const since = row.phase === "overdue" ? (row.dueAt ?? row.changedAt) : row.changedAt;
  return {
    id: `${row.id}/${key ?? kind}`,
    kind,
    task: row.id,
    key,
    server: row.server,
    tool: row.tool,
    agent: row.agent,
    message: asked?.message ?? null,
    host: kind === "url" ? "id.ledgerly.example" : null,
    openedAt: since,
    deadline: key !== null && at % 3 === 0 ? iso(now + (at % 30) * MINUTE + 288_000) : null,
    snoozedUntil: null,
    changedAt: row.changedAt,
    answeredBy: null,
    destructive: at % 9 === 4,
    tokens: isHeld ? (row.held?.tokens ?? null) : null,
    limit: isHeld ? (row.held?.limit ?? null) : null,
    exactness: isHeld ? (row.tokens?.exactness ?? null) : null,
    why: isHeld ? (row.held?.why ?? null) : null,
  };
}
const TROUBLE: Readonly<Partial<Record<Phase, InboxRow["kind"]>>> = {
  overdue: "overdue",
  lost: "lost",
  unconfirmed: "unconfirmed",
};
