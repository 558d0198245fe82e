/* Storage, limits and recording of a made-up core. */
import type { AuditVerifiedDto, LimitRow, RecordingDto, StorageDto, TreeVerifiedDto } from "$lib/bindings";
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
  auditAgeMs: 400 * DAY_MS,
};

export function makeStorage(now: number, change: Partial<StorageDto> = {}): StorageDto {
  return {
    fileBytes: 1_412_000_000,
    freeBytes: 31_000_000,
    shrinks: true,
    reserveBytes: 16_777_216,
    reserveWantedBytes: 16_777_216,
    oldestTask: iso(now - 91 * DAY_MS),
    removedSegments: 0,
    stored: {
      tasks: { rows: 12_480, bytes: null },
      payloads: { rows: 31_902, bytes: 1_204_000_000 },
      keptPayloads: { rows: 214, bytes: 38_400_000 },
      keptTasks: { rows: 107, bytes: 41_900_000 },
      rawMessages: { rows: 40_117, bytes: 96_000_000 },
      questions: { rows: 1_904, bytes: 5_100_000 },
      statusLines: { rows: 188_204, bytes: 31_000_000 },
      changes: { rows: 402_118, bytes: null },
      audit: { rows: 61_337, bytes: null },
    },
    contentBytes: 1_336_100_000,
    limits: LIMITS,
    builtIn: LIMITS,
    due: { payloadTasks: 0, payloadBytes: 0, tasks: 0, auditRows: 0 },
    waitsUntil: null,
    ...change,
  };
}

export const LIMIT_ROWS: LimitRow[] = [
  { name: "calls in flight", scope: "server ci-server", used: 870, most: 1_000, unit: "count" },
  { name: "bytes of bodies", scope: "agent research-7", used: 9_800_000, most: 33_554_432, unit: "bytes" },
  { name: "bytes of bodies", scope: "everyone", used: 14_200_000, most: 134_217_728, unit: "bytes" },
  { name: "connections", scope: "agent claude-code", used: 6, most: 64, unit: "count" },
  { name: "sessions", scope: "agent claude-code", used: 12, most: 200, unit: "count" },
  { name: "sessions", scope: "agent nightly-ops", used: 3, most: 200, unit: "count" },
  { name: "open questions", scope: "everyone", used: 11, most: 1_000, unit: "count" },
  { name: "open questions", scope: "server warehouse", used: 4, most: 256, unit: "count" },
  {
    name: "stored contents of tasks",
    scope: "agent research-7",
    used: 611_000_000,
    most: 1_073_741_824,
    unit: "bytes",
  },
  { name: "stored contents of tasks", scope: "everyone", used: 1_336_100_000, most: 2_147_483_648, unit: "bytes" },
  { name: "stored tasks", scope: "everyone", used: 12_480, most: 500_000, unit: "count" },
];

export const DISK_FULL: RecordingDto = {
  state: "cannot",
  reason: "diskFull",
  message: "nothing new is recorded, because the disk of the data directory is full",
  cure: "Free some space on the disk of the data directory, or run `taskwarden storage clean`; cancels, answers and revocations are still recorded, and agents are served again as soon as there is room.",
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

export const AUDIT_FITS: AuditVerifiedDto = {
  checked: 61_337,
  verifiedTo: 61_337,
  last: 61_337,
  first: 1,
  complete: true,
  broken: null,
};

export const CHECKPOINTS_FIT: TreeVerifiedDto = {
  compared: 64,
  newest: 61_337,
  unsigned: 0,
  lateSince: null,
  broken: null,
  next: null,
};
