/* Made-up items for the stories of the inbox: one of each kind, and what a hostile server would send. */
import type { HeldDto, InboxRow, RequestDto, TaskDto, TaskRow } from "$lib/bindings";
import { makeBudgets } from "$lib/fake-core/budgets";
import { iso } from "$lib/fake-core/random";
import { makeRow, workOf } from "$lib/fake-core/rows";
import { detail, FORM_SCHEMA, makeAgents, request } from "$lib/fake-core/entities";
import { STORY_NOW } from "$lib/fake-core/story";
import { COST } from "$lib/task/facts.example";

const MINUTE = 60_000;
export const before = (minutes: number) => iso(STORY_NOW - minutes * MINUTE);
export const after = (minutes: number) => iso(STORY_NOW + minutes * MINUTE);

export interface Item {
  readonly row: InboxRow;
  readonly task: TaskDto;
  readonly taskRow: TaskRow;
}

interface Given {
  readonly at: number;
  readonly kind: InboxRow["kind"];
  readonly server?: string;
  readonly tool?: string;
  readonly agent?: string | null;
  readonly message?: string;
  readonly row?: Partial<InboxRow>;
  readonly request?: Partial<RequestDto>;
  readonly task?: Partial<TaskDto>;
}

export function item({
  at,
  kind,
  server = "ci-server",
  tool = "deploy_prod",
  agent = "claude-code",
  message = "",
  ...more
}: Given): Item {
  const isQuestion = kind === "form" || kind === "url" || kind === "unsupported";
  const phase =
    kind === "overdue" || kind === "lost" || kind === "unconfirmed" || kind === "blocked" ? kind : "waiting";
  const times: TaskRow = {
    ...makeRow(at, phase, STORY_NOW),
    id: `hdl_7f3k9q2${at.toString(36)}`,
    server,
    tool,
    agent,
    createdAt: before(29),
    changedAt: before(4),
    pausedMs: 0,
    pausedSince: isQuestion ? before(4) : null,
  };
  const taskRow: TaskRow = { ...times, ...workOf(times) };
  const key = isQuestion ? `ask-${at}` : null;
  const row: InboxRow = {
    id: `${taskRow.id}/${key ?? kind}`,
    kind,
    task: taskRow.id,
    key,
    server,
    tool,
    agent,
    message: key === null ? null : message.slice(0, 300),
    host: kind === "url" ? "id.ledgerly.example" : null,
    openedAt: before(4),
    deadline: null,
    snoozedUntil: null,
    changedAt: before(4),
    answeredBy: null,
    destructive: false,
    tokens: null,
    limit: null,
    exactness: null,
    why: null,
    ...more.row,
  };
  const asked =
    key === null
      ? []
      : [
          {
            ...request(taskRow, key, kind === "url" ? "url" : kind === "unsupported" ? "sampling" : "form", message),
            openedAt: row.openedAt,
            ...more.request,
          },
        ];
  const task = { ...detail(taskRow, asked, STORY_NOW), ...more.task };
  return { row, taskRow, task: { ...task, ...workOf(task) } };
}

export const QUESTION = item({
  at: 1,
  kind: "form",
  row: { deadline: iso(STORY_NOW + 288_000) },
  message:
    "Build 8841 is green. How should v4.12.0 roll out? I roll back by myself if the error rate passes your limit.",
});
export const DESTRUCTIVE = item({
  at: 2,
  kind: "form",
  server: "github",
  tool: "delete_branch",
  agent: "pr-reviewer",
  message: "Delete release/4.11 on storefront?",
  row: { deadline: after(33), openedAt: before(2), destructive: true },
  request: {
    schema: {
      type: "object",
      properties: {
        sure: { type: "boolean", title: "Delete the branch" },
        note: { type: "string", title: "Note", maxLength: 400 },
      },
      required: ["sure"],
    },
  },
});
export const LINK = item({
  at: 3,
  kind: "url",
  server: "warehouse",
  tool: "export_ledger",
  agent: "nightly-ops",
  message: "The ledger export needs your consent. Sign in and allow read access for Q3.",
  row: { deadline: after(89), openedAt: before(18) },
});
export const LOST = item({
  at: 4,
  kind: "lost",
  server: "warehouse",
  tool: "rebuild_stats",
  agent: "nightly-ops",
  row: { openedAt: before(33) },
  task: { createdAt: before(80), changedAt: before(33), lastSeenAt: before(34) },
});
export const OVERDUE = item({
  at: 5,
  kind: "overdue",
  server: "warehouse",
  tool: "nightly_import",
  agent: "nightly-ops",
  row: { openedAt: before(27) },
  task: {
    createdAt: before(41),
    usual: { medianMs: 9 * MINUTE, p90Ms: 13 * MINUTE, p95Ms: 14 * MINUTE, samples: 23 },
    progress: { done: 88, total: 100, message: null },
    statusMessage: "Merging order lines, 3 of 4",
    overdueWhy: "usual",
    dueAt: before(27),
  },
});
export const RESULT_HELD = item({
  at: 12,
  kind: "held",
  server: "warehouse",
  tool: "quarter_report",
  agent: "research-7",
  row: { openedAt: before(3), why: "review", tokens: 12_006, exactness: "exact" },
  task: {
    phase: "done",
    group: "finished",
    over: true,
    status: "completed",
    result: { bytes: 48_213, isError: false, state: "stored" },
    held: {
      at: before(12),
      by: "Mara Lindqvist",
      verdict: null,
      why: "review",
      tokens: null,
      limit: null,
      program: null,
      free: null,
    },
  },
});
const limited = (held: Partial<HeldDto>): HeldDto => ({
  at: before(11),
  by: "limit",
  verdict: null,
  why: "tooLarge",
  tokens: 61_402,
  limit: 20_000,
  program: null,
  free: null,
  ...held,
});
const finished = {
  phase: "done" as const,
  group: "finished" as const,
  over: true,
  status: "completed",
  result: { bytes: 245_608, isError: false, state: "stored" as const },
};
export const TOO_LARGE = item({
  at: 20,
  kind: "held",
  server: "docs",
  tool: "index_folder",
  agent: "pr-reviewer",
  row: { openedAt: before(11), tokens: 61_402, limit: 20_000, exactness: "about", why: "tooLarge" },
  task: { ...finished, held: limited({}) },
});
export const DOES_NOT_FIT = item({
  at: 21,
  kind: "held",
  server: "docs",
  tool: "index_folder",
  agent: "research-7",
  row: { openedAt: before(11), tokens: 61_402, exactness: "exact", why: "doesNotFit" },
  task: { ...finished, held: limited({ why: "doesNotFit", limit: null, program: null, free: 36_792 }) },
});
export const LIMITED_AGENTS = makeAgents(5, STORY_NOW).map((agent) => ({ ...agent, revokedAt: null }));
export const LIMITED_BUDGETS = makeBudgets(LIMITED_AGENTS, null, STORY_NOW).map((budget) => ({
  ...budget,
  limit: { tokens: 170_000, at: "ask" as const },
}));
export const BELOW_A_LIMIT: Item = {
  ...DOES_NOT_FIT,
  task: { ...DOES_NOT_FIT.task, held: limited({ why: "doesNotFit", limit: null, program: null, free: 6_792 }) },
};
export const OF_NOBODY_KNOWN = item({
  at: 22,
  kind: "held",
  server: "docs",
  tool: "index_folder",
  agent: "long-gone",
  row: { openedAt: before(11), tokens: 61_402, limit: 20_000, exactness: "atMost", why: "tooLarge" },
  task: { ...finished, held: limited({}) },
});
export const OVER_LIMIT = item({
  at: 23,
  kind: "overLimit",
  server: "warehouse",
  tool: "index_folder",
  agent: "research-7",
  row: { openedAt: before(2), tokens: 61_204, limit: 60_000, exactness: "exact" },
  task: {
    phase: "running",
    group: "moving",
    status: "working",
    tokens: { ...COST, handle: 1_204, keptOut: 58_120, result: null, inWindow: null, delivered: 0, arguments: 1_880 },
    overLimit: { tokens: 61_204, limit: { tokens: 60_000, at: "ask" }, at: before(2), settledBy: null },
  },
});
export const UNCONFIRMED = item({
  at: 6,
  kind: "unconfirmed",
  server: "docs",
  tool: "index_folder",
  agent: null,
  row: { openedAt: before(12) },
  task: {
    view: "unanswered",
    status: null,
    changedAt: before(12),
    lastSeenAt: before(29),
    nextLookAt: null,
    expiresAt: null,
  },
});
export const UNSUPPORTED = item({
  at: 7,
  kind: "unsupported",
  server: "docs",
  tool: "render_site",
  agent: "research-7",
  message: "the server asks for a model's reply",
  row: { openedAt: before(6) },
});
export const BLOCKED: Item = (() => {
  const made = item({ at: 8, kind: "blocked", server: "memory-box", tool: undefined, agent: null });
  return { ...made, row: { ...made.row, id: "memory-box/blocked", task: null, tool: null, openedAt: before(9) } };
})();
export const PUNYCODE = item({
  at: 9,
  kind: "url",
  server: "warehouse",
  message: "Please sign in again.",
  row: { host: "аррӏе.example" },
  request: {
    url: "http://user@xn--80ak6aa92e.example:8080/login?next=%2F",
    host: "аррӏе.example",
    hostAscii: "xn--80ak6aa92e.example",
  },
});
export const SECRET = item({
  at: 10,
  kind: "form",
  message: "Sign in to continue.",
  request: {
    secretFields: ["password"],
    schema: {
      type: "object",
      properties: {
        user: { type: "string", title: "User", default: "mara" },
        password: { type: "string", title: "Password", default: "never shown" },
      },
      required: ["user", "password"],
    },
  },
});
export const EVERY_FIELD = item({
  at: 11,
  kind: "form",
  message: "Every kind of field at once.",
  request: {
    schema: {
      type: "object",
      properties: {
        name: { type: "string", title: "Name", description: "As it stands on the door", minLength: 2, maxLength: 40 },
        mail: { type: "string", title: "E-mail", format: "email" },
        site: { type: "string", title: "Site", format: "uri", default: "https://example.org" },
        day: { type: "string", title: "Day", format: "date" },
        at: { type: "string", title: "Moment", format: "date-time", default: "2026-11-21T03:25:00Z" },
        note: { type: "string", title: "Note", maxLength: 2_000 },
        count: { type: "integer", title: "Count", minimum: 1, maximum: 9 },
        share: { type: "number", title: "Share", default: 0.5 },
        go: { type: "boolean", title: "Go ahead" },
        dry: { type: "boolean", title: "Dry run", default: true },
        one: {
          type: "string",
          title: "One of few",
          oneOf: [
            { const: "a", title: "Alpha" },
            { const: "b", title: "Beta" },
          ],
        },
        many: {
          type: "string",
          title: "One of many",
          enum: ["one", "two", "three", "four", "five", "six", "seven"],
          enumNames: ["First", "Second"],
        },
        some: {
          type: "array",
          title: "Some of several",
          items: {
            anyOf: [
              { const: "x", title: "Ex" },
              { const: "y", title: "Why" },
              { const: "z", title: "Zed" },
            ],
          },
          minItems: 1,
        },
        maybe: { type: ["string", "null"], title: "Or nothing", enum: ["left", "right", null], default: "left" },
        shape: { type: "object", title: "Shape" },
      },
      required: ["name", "count", "go"],
    },
  },
});
/** A question that several calls may be asking; the first one stores it. Names are long in each third call. */
export function sharedAmong(
  count: number,
  kind: "form" | "unsupported" = "form",
): { readonly item: Item; readonly calls: readonly Item[] } {
  const long = (at: number) => (at % 3 === 2 ? `synchronise_${"warehouse_".repeat(9)}${at}` : `sync_${at}`);
  const calls = Array.from({ length: count }, (_, at) => {
    const made = item({
      at: 40 + at,
      kind: "form",
      server: "hostile",
      tool: long(at),
      agent: at % 3 === 2 ? `agent-${"of-the-night-shift-".repeat(4)}${at}` : "order-bot",
    });
    const taskRow = { ...made.taskRow, createdAt: before(3 + at) };
    return { ...made, taskRow, task: { ...made.task, createdAt: taskRow.createdAt, requests: [] } };
  });
  const oneOf = calls.map((call) => call.taskRow.id);
  const asking = item({
    at: 40,
    kind,
    server: "hostile",
    message: "Which of the two warehouses should be synchronised first?",
    row: { tool: null, agent: null, oneOf },
    request: { oneOf },
  });
  const [stores, ...others] = calls;
  if (!stores) throw new Error("somebody asks");
  const elsewhere = others.map((call) => ({ ...call, task: { ...call.task, askedElsewhere: [asking.row.id] } }));
  return {
    item: { ...asking, taskRow: stores.taskRow, task: { ...stores.task, requests: asking.task.requests } },
    calls: elsewhere,
  };
}
const LONG = "a".repeat(100_000);
export const HOSTILE = item({
  at: 12,
  kind: "form",
  server: "evil",
  tool: "<script>alert(1)</script>",
  agent: "‮txet",
  message: `<img src=x onerror=alert(1)> \u001b[31mred\u001b[0m ‮gnp.exe‬ ${LONG} <b>bold?</b>`,
  request: {
    schema: {
      type: "object",
      properties: {
        __proto__x: { type: "string", title: `<b>${"wide ".repeat(200)}</b>`, description: LONG },
        "javascript:alert(1)": { type: "string", title: "‮evil\u001b[5m", enum: ["<i>a</i>", LONG] },
        strange: { type: ["string", "integer"], oneOf: "none", enum: { not: "a list" } },
        nothing: null,
      },
      required: "all",
    },
  },
});
export const MANY_FIELDS = item({
  at: 13,
  kind: "form",
  message: "Five hundred answers, please.",
  request: {
    schema: {
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 500 }, (_, at) => [
          `field-${at}`,
          at % 3 === 0
            ? { type: "boolean", title: `Flag ${at}` }
            : at % 3 === 1
              ? { type: "integer", title: `Number ${at}`, default: at }
              : { type: "string", title: `Text ${at}` },
        ]),
      ),
      required: ["field-2"],
    },
  },
});
export const SHAPELESS = item({
  at: 14,
  kind: "form",
  message: "Answer as you like.",
  request: { schema: { type: "object" } },
});

const answered = (
  by: string,
  more: Partial<NonNullable<RequestDto["answer"]>> = {},
): NonNullable<RequestDto["answer"]> => ({
  action: "accept",
  by,
  at: iso(STORY_NOW - 12_000),
  delivery: "acknowledged",
  refusedWhy: null,
  notBefore: null,
  ...more,
});
const withAnswer = (
  at: number,
  answer: NonNullable<RequestDto["answer"]>,
  state: RequestDto["state"],
  row: Partial<InboxRow> = {},
) =>
  item({
    at,
    kind: "form",
    message: "How should v4.12.0 roll out?",
    row,
    request: { schema: FORM_SCHEMA, answer, state },
  });
export const BY_DANA = withAnswer(15, answered("Dana Okafor"), "confirmed", { answeredBy: "Dana Okafor" });
export const HELD = withAnswer(
  16,
  answered("Mara Lindqvist", { delivery: "recorded", notBefore: iso(STORY_NOW + 4_000) }),
  "answered",
);
export const REFUSED = withAnswer(
  17,
  answered("Mara Lindqvist", { delivery: "refused", refusedWhy: "ticket CHG-204817 is closed" }),
  "answered",
);
export const WITHDRAWN = item({
  at: 18,
  kind: "form",
  message: "Still there?",
  request: { state: "withdrawn", withdrawnWhy: "the server went on without an answer" },
});
export const ASLEEP = item({
  at: 19,
  kind: "form",
  message: "Which folders should I leave out of the index?",
  server: "docs",
  tool: "index_folder",
  row: { snoozedUntil: after(7) },
});

export const SIX: readonly Item[] = [QUESTION, DESTRUCTIVE, LINK, LOST, OVERDUE, UNCONFIRMED, BLOCKED, ASLEEP];
