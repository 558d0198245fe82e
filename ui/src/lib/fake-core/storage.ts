/* Storage, limits and recording of a made-up core. */
import type {
  AgentFacts,
  AuditVerifiedDto,
  LimitRow,
  RecordingDto,
  StorageDto,
  TaskRow,
  TreeVerifiedDto,
} from "$lib/bindings";
import type { AuditLog } from "./audit/rows";
import { iso } from "./random";

const DAY_MS = 86_400_000;
const LIMITS = {
  payloadAgeMs: 30 * DAY_MS,
  payloadBytes: 2_147_483_648,
  agentPayloadBytes: 1_073_741_824,
  serverPayloadBytes: 1_073_741_824,
  taskAgeMs: 400 * DAY_MS,
  tasks: 500_000,
  agentTasks: 250_000,
  serverTasks: 250_000,
  receiptAgeMs: 90 * DAY_MS,
  receipts: 10_000_000,
  auditAgeMs: 400 * DAY_MS,
};

const ARGUMENT_BYTES = 1_800;
const TASK_BYTES = 900;
/** Of an empty registry. */
const FILE_BYTES = 4_800_000;

/** Sizes follow from the rows and the log, so that Storage counts what Tasks and Audit show. */
export function makeStorage(
  rows: readonly TaskRow[],
  audit: Pick<AuditLog, "first" | "last">,
  now: number,
  change: Partial<StorageDto> = {},
): StorageDto {
  const open = rows.filter((row) => !row.over || row.held !== null);
  const results = rows.reduce((sum, row) => sum + (row.resultBytes ?? 0), 0);
  const oldest = rows.reduce((first, row) => Math.min(first, Date.parse(row.createdAt)), now);
  const payloads = { rows: rows.length * 3, bytes: results + rows.length * ARGUMENT_BYTES };
  return {
    fileBytes: FILE_BYTES + payloads.bytes + rows.length * TASK_BYTES,
    freeBytes: FILE_BYTES / 8,
    shrinks: true,
    reserveBytes: 16_777_216,
    reserveWantedBytes: 16_777_216,
    oldestTask: rows.length === 0 ? null : iso(oldest),
    removedSegments: 0,
    stored: {
      tasks: { rows: rows.length, bytes: null },
      payloads,
      keptPayloads: { rows: open.length, bytes: open.length * ARGUMENT_BYTES },
      keptTasks: { rows: open.length, bytes: open.length * 2 * ARGUMENT_BYTES },
      rawMessages: { rows: rows.length * 4, bytes: rows.length * 4 * ARGUMENT_BYTES },
      questions: { rows: rows.length, bytes: rows.length * ARGUMENT_BYTES },
      statusLines: { rows: rows.length * 15, bytes: rows.length * 15 * 100 },
      changes: { rows: rows.length * 32, bytes: null },
      receipts: { rows: rows.length * 40, bytes: null },
      audit: { rows: audit.last === 0 ? 0 : audit.last - audit.first + 1, bytes: null },
    },
    contentBytes: contentBytes(rows.length, payloads.bytes),
    limits: LIMITS,
    builtIn: LIMITS,
    due: { payloadTasks: 0, payloadBytes: 0, tasks: 0, receipts: 0, auditRows: 0 },
    waitsUntil: null,
    ...change,
  };
}

/** What counts for the limit of size: contents, messages, questions and status messages. */
function contentBytes(tasks: number, payloads: number): number {
  return payloads + tasks * (4 * ARGUMENT_BYTES + ARGUMENT_BYTES + 15 * 100);
}

/** How much of each limit is used, as far as other screens count it too. */
export function limitRows(storage: StorageDto, agents: readonly AgentFacts[], questions: number): LimitRow[] {
  const sessions = agents
    .filter((agent) => agent.sessions.length > 0)
    .slice(0, 3)
    .map(({ name, sessions }): LimitRow => ({
      name: "sessions",
      scope: `agent ${name}`,
      used: sessions.length,
      most: 200,
      unit: "count",
    }));
  return [
    { name: "open calls", scope: "server ci-server", used: 5, most: 1_000, unit: "count" },
    { name: "bodies of requests", scope: "agent research-7", used: 29_800_000, most: 33_554_432, unit: "bytes" },
    { name: "bodies of requests", scope: "everyone", used: 44_200_000, most: 134_217_728, unit: "bytes" },
    { name: "connections", scope: "agent claude-code", used: 6, most: 64, unit: "count" },
    ...sessions,
    { name: "open questions", scope: "everyone", used: questions, most: 1_000, unit: "count" },
    {
      name: "stored contents of tasks",
      scope: "everyone",
      used: storage.contentBytes,
      most: storage.limits.payloadBytes ?? 2_147_483_648,
      unit: "bytes",
    },
    { name: "stored tasks", scope: "everyone", used: storage.stored.tasks.rows, most: 500_000, unit: "count" },
  ];
}

export const DISK_FULL: RecordingDto = {
  state: "cannot",
  reason: "diskFull",
  message: "nothing new is recorded, because the disk of the data folder is full",
  cure: "Free some space on the disk of the data folder, or run `taskwarden storage clean`; cancels, answers and revocations are still recorded, and agents are served again as soon as there is room.",
  since: "2026-11-21T14:29:02.000Z",
  calls: [
    {
      id: "hdl_01kate5w0gx2c8r4m9t7b3zq6n",
      server: "ci-server",
      agent: "claude-code",
      tool: "deploy_prod",
      since: "2026-11-21T14:28:51.000Z",
    },
  ],
};

export const auditFits = ({ first, last }: Pick<AuditLog, "first" | "last">): AuditVerifiedDto => ({
  checked: last === 0 ? 0 : last - first + 1,
  verifiedTo: last,
  last,
  first,
  complete: true,
  erased: 0,
  firstErased: null,
  broken: null,
});

export const checkpointsFit = (newest: number): TreeVerifiedDto => ({
  compared: Math.ceil(newest / 1_000),
  newest,
  epoch: 1,
  unsigned: 0,
  lateSince: null,
  broken: null,
  next: null,
});
