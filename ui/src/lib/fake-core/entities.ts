/* Made-up servers, tools, settings and the rest of a core. */
import type {
  AgentFacts,
  CoreDto,
  HealthDto,
  RequestDto,
  ServerDto,
  SessionDto,
  SettingsDto,
  TaskDto,
  TaskRow,
  ToolDto,
} from "$lib/bindings";
import { iso } from "./random";
import { NO_FIGURES } from "./query";
import { SERVERS, TOOL_NAMES, workOf } from "./rows";
import { STARTED_AT } from "./tokens/history";

export const CORE: CoreDto = {
  version: "0.1.0",
  process: 4242,
  person: "Mara Lindqvist",
  startedAt: STARTED_AT,
  home: "/home/mara/.local/share/taskwarden",
  secrets: "keychain",
  secretsInFile: false,
  notifications: "desktop",
  agentsAt: { url: "http://127.0.0.1:7717/mcp", why: null },
  registryFindings: [],
};

export const SETTINGS: SettingsDto = {
  theme: "system",
  notifyWaiting: true,
  notifyProblem: true,
  notifyFinished: false,
  quietFrom: null,
  quietTo: null,
  pausedUntil: null,
  globalShortcut: true,
  autostart: false,
  closeToTray: true,
  keepServingAgents: null,
};

/** The servers of the made tasks are up; who is in trouble comes after them, and nothing runs there. */
const HEALTH: readonly HealthDto["kind"][] = ["up", "up", "up", "up", "up", "blocked", "down", "connecting", "unknown"];
const NAMES: readonly string[] = [...SERVERS, "papers"];

export function makeServers(count: number, now: number): ServerDto[] {
  return Array.from({ length: count }, (_, at) => makeServer(NAMES[at] ?? `server-${at + 1}`, at, now));
}

export function makeServer(name: string, at: number, now: number): ServerDto {
  const kind = HEALTH[at % HEALTH.length] ?? "up";
  const http = at % 3 === 2;
  return {
    name,
    id: `srv_${at.toString(36).padStart(6, "0")}`,
    address: http
      ? { kind: "http", url: `https://${name}.example/mcp`, secretHeaders: ["authorization"] }
      : {
          kind: "stdio",
          command: "npx",
          args: ["-y", `@example/${name}`, "--root", "/srv/data"],
          env: { LOG: "info" },
          secretEnv: ["API_TOKEN"],
          cwd: null,
        },
    era: kind === "unknown" || kind === "connecting" ? null : at % 4 === 3 ? "legacy" : "modern",
    dialect: at % 4 === 3 ? "2025-11-25" : "2026-07-28",
    protocolVersion: at % 4 === 3 ? "2025-11-25" : "2026-07-28",
    serverName: name,
    serverVersion: "2.3.1",
    canList: at % 4 === 3,
    canCancel: true,
    health: {
      kind,
      since: iso(now - 3_600_000),
      why:
        kind === "down" ? "the program ended with code 1" : kind === "blocked" ? "the server asks for sign-in" : null,
      hint:
        kind === "down"
          ? "Look at its last words below; it is started again by itself."
          : kind === "blocked"
            ? "Add the server again with a valid token."
            : null,
      retryAt: kind === "down" ? iso(now + 42_000) : null,
    },
    agreed: kind !== "unknown",
    agreedBy: kind === "unknown" ? null : "Mara Lindqvist",
    agreedAt: kind === "unknown" ? null : iso(now - 86_400_000),
    openTasks: 0,
    figures: NO_FIGURES,
    createdAt: iso(now - 86_400_000 * 9),
    stderrTail: kind === "down" ? "Error: cannot find module 'left-pad'\n    at Module._resolve (node:internal)\n" : "",
    pushes: at % 2 === 0,
    toolCount: kind === "unknown" ? null : toolsOf(name).length,
    cancels: { asked: 15, stopped: 14 - (at % 5), finishedAnyway: at % 5, refused: 1, noReply: 0, medianMs: 2_100 },
    refusedQuestions: at % 3 === 2 && kind === "up" ? { count: 12, since: iso(now - 300_000) } : null,
    signIn: null,
  };
}

export const AGENTS = ["claude-code", "research-7", "nightly-ops", "pr-reviewer", "order-bot"] as const;

/** Programs as they name themselves; null for those that do not. */
const CLIENTS = ["claude-code 2.1.7", null, null, "opencode 1.0.3", "gemini-cli 0.9.0"] as const;

export function makeAgents(count: number, now: number): AgentFacts[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `agt_${AGENTS[at] ?? `agent-${at + 1}`}`,
    name: AGENTS[at] ?? `agent-${at + 1}`,
    createdAt: iso(now - 86_400_000 * 3),
    revokedAt: at % 7 === 6 ? iso(now - 3_600_000) : null,
    seenAt: iso(now - 60_000 * (at + 1)),
    client: CLIENTS[at % CLIENTS.length] ?? null,
    calls: 412 - (at % 400),
    openTasks: 0,
    waiting: 0,
    figures: NO_FIGURES,
    taskTools: at % 2 === 0,
    learnedTimeoutMs: at % 6 === 0 ? 40_000 : null,
    connected: at % 4 !== 3 && at % 7 !== 6,
    connectedSince: at % 4 !== 3 && at % 7 !== 6 ? iso(now - 3_600_000 * (1 + (at % 5))) : null,
    sessions:
      at % 4 !== 3 && at % 7 !== 6
        ? [
            {
              door: at % 3 === 1 ? ("http" as const) : ("command" as const),
              program: CLIENTS[at % CLIENTS.length] ?? null,
              since: iso(now - 3_600_000 * (1 + (at % 5))),
              lastAt: iso(now - 60_000 * (at + 1)),
            },
          ]
        : [],
    tokenMadeAt: iso(now - 86_400_000 * 3),
  }));
}

export const TOOLS: readonly ToolDto[] = [
  {
    name: "deploy_prod",
    title: "Deploy to production",
    description: "Releases a build.",
    taskSupport: "required",
    destructive: true,
    callsDay: 3,
    readOnly: false,
    inputSchema: {
      type: "object",
      properties: {
        version: { type: "string", title: "Version" },
        regions: { type: "array", items: { type: "string", enum: ["eu-west-1", "us-east-1"] } },
      },
      required: ["version"],
    },
  },
  {
    name: "index_folder",
    title: null,
    description: "Reads a folder and makes it searchable.",
    taskSupport: "optional",
    destructive: false,
    readOnly: true,
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" }, depth: { type: "integer", minimum: 1, maximum: 20, default: 3 } },
      required: ["path"],
    },
    usualResult: { samples: 8, median: 1_240, largest: 6_900 },
    callsDay: 214,
    usualTime: { samples: 21, medianMs: 38 },
  },
];

/** As the tasks of a server name them, and two that every server has. */
export function toolsOf(server: string): ToolDto[] {
  const more = (TOOL_NAMES[server] ?? []).filter((name) => !TOOLS.some((tool) => tool.name === name));
  return [
    ...TOOLS,
    ...more.map((name, at): ToolDto => ({
      name,
      title: null,
      description: null,
      taskSupport: "optional",
      destructive: name.startsWith("delete"),
      readOnly: name.startsWith("check") || name.startsWith("review"),
      inputSchema: { type: "object", properties: {} },
      callsDay: 4 + at * 7,
    })),
  ];
}

export const FORM_SCHEMA = {
  type: "object",
  properties: {
    rollout: {
      type: "string",
      title: "Rollout",
      oneOf: [
        { const: "canary", title: "Canary 10 %, then everyone" },
        { const: "regions", title: "One region at a time" },
        { const: "all", title: "Everyone at once" },
      ],
      default: "canary",
    },
    regions: {
      type: "array",
      title: "Regions",
      items: { type: "string", enum: ["eu-west-1", "us-east-1", "ap-south-1"] },
      default: ["eu-west-1", "us-east-1"],
    },
    limit: {
      type: "number",
      title: "Roll back above",
      description: "Errors, 0 to 5 %",
      minimum: 0,
      maximum: 5,
      default: 1.5,
    },
    ticket: { type: "string", title: "Change ticket", pattern: "^CHG-[0-9]{6}$" },
  },
  required: ["rollout", "limit"],
};

export function request(row: TaskRow, key: string, kind: RequestDto["kind"], message: string): RequestDto {
  const base: RequestDto = {
    key,
    kind,
    message,
    state: "open",
    openedAt: row.changedAt,
    answer: null,
    withdrawnWhy: null,
    secretFields: [],
  };
  if (kind === "form") return { ...base, schema: FORM_SCHEMA };
  if (kind === "url")
    return { ...base, url: "https://id.ledgerly.example/consent?export=8841", host: "id.ledgerly.example" };
  return base;
}

export function detail(row: TaskRow, requests: RequestDto[], now: number): TaskDto {
  const stopped = row.stopState !== null;
  return {
    id: row.id,
    server: row.server,
    agent: row.agent,
    tool: row.tool,
    origin: row.agent === null ? "started" : "agent",
    phase: row.phase,
    group: row.group,
    over: row.over,
    view: row.phase,
    status: row.status,
    statusMessage: row.statusMessage,
    progress: row.progress,
    createdAt: row.createdAt,
    changedAt: row.changedAt,
    endedAt: row.endedAt,
    pausedMs: row.pausedMs,
    pausedSince: row.pausedSince,
    ...workOf(row),
    lastSeenAt: row.lastSeenAt,
    nextLookAt: row.nextLookAt,
    expiresAt: row.expiresAt,
    requests,
    intent: stopped
      ? {
          kind: "cancel",
          at: iso(now - 34_000),
          by: "Mara Lindqvist",
          reason: null,
          state: row.stopState,
          refusedWhy: null,
          sentAt: iso(now - 34_000),
          acknowledgedAt: row.stopState === "asked" ? null : iso(now - 33_000),
        }
      : null,
    tokens: row.tokens,
    overLimit: null,
    overdueWhy: row.overdueWhy,
    dueAt: row.dueAt,
    usual: row.usual,
    elapsedMs: Math.max(0, (row.endedAt ? Date.parse(row.endedAt) : now) - Date.parse(row.createdAt) - row.pausedMs),
    contact: {
      kind:
        row.phase === "silent"
          ? "silent"
          : row.phase === "lost"
            ? "gone"
            : row.phase === "blocked"
              ? "blocked"
              : "fresh",
      since: row.lastSeenAt,
      failures: row.phase === "silent" ? 3 : 0,
      last: row.phase === "lost" ? "the server no longer knows the task" : null,
    },
    error: row.phase === "failed" ? { code: -32603, message: "the worker ran out of memory" } : null,
    result: row.resultBytes === null ? null : { bytes: row.resultBytes, isError: row.isError, state: "stored" },
    startedBy: row.agent === null ? "Mara Lindqvist" : null,
    agentId: row.agentId,
    audience: "people",
    peopleAt: null,
    givenAt: row.agent === null ? null : row.createdAt,
    orphanedAt: row.orphanedAt,
    held: row.held,
    ownConnection: false,
    parent: null,
    children: [],
    job: null,
  };
}

const MINUTE_MS = 60_000;

/** Signed-in browsers; the last is the one that asks. */
export const SESSIONS = (now: number): SessionDto[] => [
  {
    id: "k3v9x0qa",
    browser:
      "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    signedInAt: iso(now - 400 * MINUTE_MS),
    usedAt: iso(now - 190 * MINUTE_MS),
    current: false,
  },
  {
    id: "c81nq5re",
    browser: "curl/8.5.0",
    signedInAt: iso(now - 45 * MINUTE_MS),
    usedAt: iso(now - 44 * MINUTE_MS),
    current: false,
  },
  {
    id: "7mw2h4tz",
    browser: "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
    signedInAt: iso(now - 25 * MINUTE_MS),
    usedAt: iso(now),
    current: true,
  },
];
