import type { ApiError } from "$lib/bindings";
import type { FakeOptions } from "$lib/fake-core/backend";
import { story, type StoryFile } from "$lib/fake-core/story";
import Inbox from "./Inbox.svelte";
import * as made from "./inbox.example";
import type { Item } from "./inbox.example";
import { cause, equalQuestions } from "./several.example";
import { ASKING, SAME_CALL } from "./alarm.example";
import { asking, type AskingPause } from "./pause/pause.example";
import { PAST_TIME_LIMIT, WITHOUT_PROGRESS } from "./time-limit.example";
import { YES_NO, yesNo } from "./yes-no.example";

const on = (items: readonly Item[], more: FakeOptions = {}): FakeOptions => ({
  tasks: items.map((one) => one.taskRow),
  inbox: items.map((one) => one.row),
  details: items.map((one) => one.task),
  ...more,
});
const at = (one: Item) => `#/inbox/${encodeURIComponent(one.row.id)}`;
const screen = (open: Item, more: { fake?: FakeOptions; keys?: readonly string[]; click?: readonly string[] } = {}) =>
  story(
    Inbox,
    {},
    {
      fake: on([...made.SIX.filter((one) => one !== open).slice(0, 6), open], more.fake),
      hash: at(open),
      ...(more.keys ? { keys: more.keys } : {}),
      ...(more.click ? { click: more.click } : {}),
    },
  );
const choosing = (
  { item, pause }: AskingPause,
  more: { fake?: FakeOptions; keys?: readonly string[]; click?: readonly string[] } = {},
) => screen(item, { ...more, fake: { calls: { "pauses.list": () => ({ pauses: [pause] }) }, ...more.fake } });
const LONG = "of-the-night-shift-".repeat(9);
const HOSTILE_PAUSE = asking({
  waiting: 4,
  server: `memory\u202egraph-${LONG}`,
  tool: `\u001b[31m<b>${"delete_everything_".repeat(8)}\u202e`,
  caller: `agent-${LONG}`,
  more: { by: LONG, reason: `\u202e${"wrong ".repeat(60)}` },
});
const failed: ApiError = {
  code: "failed",
  message: "the registry is full",
  hint: "Free some space on the disk; nothing was sent.",
};
const throwing = (): never => {
  throw failed;
};
const SEND = "footer button:last-child";

const MANY_TO_COME: Item = {
  ...made.QUESTION,
  row: { ...made.QUESTION.row, moreQuestions: 936 },
  task: { ...made.QUESTION.task, moreQuestions: 936 },
};

const shared = (
  count: number,
  kind: "form" | "unsupported" = "form",
  more: { keys?: readonly string[]; click?: readonly string[] } = {},
) => {
  const { item, calls } = made.sharedAmong(count, kind);
  const items = [made.QUESTION, made.LINK, item];
  const fake = {
    tasks: [...items, ...calls].map((one) => one.taskRow),
    inbox: items.map((one) => one.row),
    details: [...items, ...calls].map((one) => one.task),
  };
  return story(Inbox, {}, { fake, hash: at(item), ...more });
};

const hiddenRows = made.SIX.map((one, at) =>
  at === 1
    ? { ...one.row, snoozedUntilChange: true }
    : at === 2
      ? { ...one.row, snoozedUntil: made.after(95) }
      : one.row,
);
const equal = (count: number, keys: readonly string[], click: readonly string[] = []) => {
  const items = equalQuestions(count);
  const [first] = items;
  return story(Inbox, {}, { fake: on(items), hash: first ? at(first) : "#/inbox", keys, click });
};
const ANSWERS: FakeOptions["answered"] = [
  { delivery: "sent", isOver: true },
  {},
  { by: "a rule", rule: { id: "ans_1", version: 2 }, origin: null, answeredByRule: "ans_1" },
  {
    by: "dana",
    action: "decline",
    fields: [],
    origin: { door: "terminal", process: 99, executable: "/usr/bin/taskwarden" },
    server: "github",
    tool: "delete_branch",
    message: "Delete release/4.11 on storefront?",
    noRule: "the tool is marked as destructive",
  },
  {
    by: "dana",
    message: "Sign in to the registry",
    fields: [
      { title: "User", value: "dana" },
      { title: "Password", value: null },
    ],
    noRule: "this question may ask for a secret",
    origin: { door: "browser", process: null, executable: null },
  },
  {
    message: `\u202e<b>${"long words ".repeat(40)}</b>`,
    fields: [{ title: "x".repeat(300), value: "y".repeat(4_000) }],
  },
  { action: "forwarded", by: "claude-code", origin: null, fields: [] },
];
const answered = (more: FakeOptions, click: readonly string[] = []) =>
  story(Inbox, {}, { fake: on(made.SIX, more), hash: "#/inbox/answered", click });
const RULES: FakeOptions["answerRules"] = [
  {
    id: "ans_1",
    version: 2,
    server: "ci-server",
    tool: "deploy_prod",
    question: "Build 8841 is green. How should v4.12.0 roll out?",
    action: "accept",
    fields: [
      { title: "rollout", value: "canary" },
      { title: "regions", value: "eu-west-1, us-east-1" },
    ],
    by: "Mara Lindqvist",
    since: made.before(3_000),
    applied: 12,
    appliedAt: made.before(18),
    endedBy: null,
    endedAt: null,
  },
  {
    id: "ans_2",
    version: 1,
    server: "storage",
    tool: "archive_bucket",
    question: "Move bucket logs-1 to cold storage?",
    action: "decline",
    fields: [],
    by: "dana",
    since: made.before(9_000),
    applied: 0,
    appliedAt: null,
    endedBy: "dana",
    endedAt: made.before(60),
  },
];

export default {
  title: "inbox",
  stories: {
    form: story(Inbox, {}, { fake: on(made.SIX) }),
    "form to correct": story(
      Inbox,
      {},
      { fake: on(made.SIX), keys: ["r", "Tab", "Tab", "Tab", "Tab", "Control+a", "9", "Control+Enter"] },
    ),
    "more questions to come": screen(MANY_TO_COME),
    "form as JSON": screen(made.QUESTION, { click: ["form > div:last-child button"] }),
    "form, all kinds of fields": screen(made.EVERY_FIELD),
    "form, all problems": screen(made.EVERY_FIELD, { click: [SEND] }),
    "form of 500 fields": screen(made.MANY_FIELDS),
    "form without fields": screen(made.SHAPELESS),
    "form with a secret": screen(made.SECRET),
    "form with a draft": screen(made.QUESTION, {
      fake: {
        userData: [
          {
            kind: "draft",
            key: made.QUESTION.row.id,
            value: { values: { rollout: "all", limit: 2 }, typed: {} },
            changedAt: "2026-11-21T14:19:36.000Z",
          },
        ],
      },
    }),
    "form not sent": screen(made.QUESTION, { fake: { calls: { "tasks.answer": throwing } }, click: [SEND] }),
    sending: screen(made.HELD),
    refused: screen(made.REFUSED),
    withdrawn: screen(made.WITHDRAWN),
    "answered by somebody": screen(made.BY_DANA),
    hostile: screen(made.HOSTILE),
    "yes or no": screen(YES_NO),
    "yes or no, destructive, second step": screen(yesNo(true), { keys: ["y"] }),
    destructive: screen(made.DESTRUCTIVE),
    "destructive, second step": screen(made.DESTRUCTIVE, { click: ["[data-field] input[type=radio]", SEND] }),
    link: screen(made.LINK),
    "link opened": screen(made.LINK, { click: [SEND] }),
    "link in other letters": screen(made.PUNYCODE),
    unsupported: screen(made.UNSUPPORTED),
    "one of 2 calls asks": shared(2),
    "one of 32 calls asks": shared(32),
    "one of 32 calls asks, all of them": shared(32, "form", { click: ["button:has-text('Show 24 more')"] }),
    "one of 5 calls asks, by key": shared(5, "form", { keys: ["c"] }),
    "one of 5 calls asks, one is cancelled": shared(5, "form", { keys: ["c", "Enter"] }),
    "one of 5 calls asks what nobody can answer": shared(5, "unsupported", { keys: ["c"] }),
    overdue: screen(made.OVERDUE),
    "overdue, asking to cancel": screen(made.OVERDUE, { keys: ["c"] }),
    "overdue, cancel asked": screen(made.OVERDUE, { click: ["footer button:first-child"] }),
    "result held": screen(made.RESULT_HELD),
    "result held, withholding": screen(made.RESULT_HELD, { click: ["footer button:first-child"] }),
    "too large": screen(made.TOO_LARGE, {
      fake: {
        rules: [
          { scope: { kind: "tool", server: "docs", tool: "index_folder" }, resultLimit: { tokens: 20_000, at: "ask" } },
        ],
      },
    }),
    "does not fit": screen(made.DOES_NOT_FIT),
    "does not fit below a limit": screen(made.BELOW_A_LIMIT, {
      fake: { agents: made.LIMITED_AGENTS, budgets: made.LIMITED_BUDGETS },
    }),
    "too large, of nobody known": screen(made.OF_NOBODY_KNOWN),
    "too large, trimmed": screen(made.TOO_LARGE, { click: [".options label:nth-child(3) input"] }),
    "too large, trim to correct": screen(made.TOO_LARGE, {
      click: [".options label:nth-child(3) input", ".trim input"],
      keys: ["Control+a", "x", "Control+Enter"],
    }),
    "too large, not delivering": screen(made.TOO_LARGE, { keys: ["d"] }),
    "too large, not sent": screen(made.TOO_LARGE, { fake: { calls: { "tasks.release": throwing } }, click: [SEND] }),
    "past its time limit": screen(PAST_TIME_LIMIT),
    "the same call again and again": screen(SAME_CALL),
    "the same call again and again, and further calls wait": screen(ASKING),
    "without progress for longer than allowed": screen(WITHOUT_PROGRESS),
    "calls wait for a choice": choosing(asking({ waiting: 3, agent: "order-bot" })),
    "calls wait for a choice, by key": choosing(asking({ waiting: 3, agent: "order-bot" }), {
      keys: ["Enter", "Space"],
    }),
    "calls wait for a choice, none is wanted": choosing(asking({ waiting: 3, agent: "order-bot" }), {
      click: ["button:has-text('Untick all')"],
    }),
    "calls wait for a choice, cancelling all": choosing(asking({ waiting: 3, agent: "order-bot" }), { keys: ["d"] }),
    "calls wait for a choice, not sent": choosing(asking({ waiting: 3, agent: "order-bot" }), {
      fake: { calls: { "pauses.end": throwing } },
      click: [SEND],
    }),
    "one call to a frozen server waits for a choice": choosing(
      asking({ waiting: 1, server: "memorygraph", more: { processes: { stopped: 4, moving: 0, foreign: 0 } } }),
    ),
    "500 calls wait for a choice": () => choosing(asking({ waiting: 500, agent: "order-bot" })),
    "500 calls wait for a choice, not read": () =>
      choosing(asking({ waiting: 500, agent: "order-bot" }), { fake: { calls: { "pauses.list": throwing } } }),
    "calls wait for a choice, hostile": choosing(HOSTILE_PAUSE),
    "over its limit": screen(made.OVER_LIMIT),
    "over its limit, stopping": screen(made.OVER_LIMIT, { keys: ["c"] }),
    lost: screen(made.LOST),
    "lost, resolving": screen(made.LOST, { click: ["footer button:first-child"] }),
    unconfirmed: screen(made.UNCONFIRMED),
    blocked: screen(made.BLOCKED),
    "one cause, 6 calls": screen(cause(6)),
    "one cause, arguments": screen(cause(6), {
      click: ["#inbox-detail li:first-child button:has-text('Show arguments')"],
    }),
    "one cause, resolving": screen(cause(6), { click: ["footer button:first-child"] }),
    "one cause, 10,000 calls": () => screen(cause(10_000, "lost")),
    finding: screen(made.QUESTION, { keys: ["/", "w", "a", "r", "e"] }),
    "finding nothing": screen(made.QUESTION, { keys: ["/", "x", "y", "z", "z"] }),
    "hide until": screen(made.OVERDUE, { keys: ["Shift+Z"] }),
    hidden: screen(made.OVERDUE, { fake: { inbox: hiddenRows }, click: ["button:has-text('Show'):not([aria-label])"] }),
    "equal questions selected": equal(12, ["x", "Control+a"]),
    "equal questions, what is sent": equal(
      12,
      [],
      [".pick", "button:has-text('Select all 12')", "footer button:has-text('Answer 12')"],
    ),
    "unlike items selected": screen(made.LOST, { keys: ["x", "Control+a"] }),
    answered: answered({ answered: ANSWERS }),
    "answered, a rule from it": answered({ answered: ANSWERS }, ["footer button:first-child"]),
    "answered, 10,000": () => answered({ answered: Array.from({ length: 10_000 }, () => ({})) }),
    "answered, core lost, rows not loaded": () =>
      story(
        Inbox,
        {},
        {
          fake: on(made.SIX, { answered: Array.from({ length: 10_000 }, () => ({})), connection: "stale" }),
          hash: "#/inbox/answered",
          click: ["[role=row][data-at='1']"],
          keys: ["End"],
        },
      ),
    "answered, none": answered({ answered: [] }),
    "answered, not loaded": answered({ calls: { "inbox.answered": throwing } }),
    rules: story(Inbox, {}, { fake: on(made.SIX, { answerRules: RULES }), hash: "#/inbox/rules" }),
    "rules, none": story(Inbox, {}, { fake: on(made.SIX), hash: "#/inbox/rules" }),
    "more actions": screen(made.QUESTION, { keys: ["."] }),
    "an old link": story(Inbox, {}, { fake: on(made.SIX), hash: "#/inbox/hdl_gone%2Fask-1" }),
    empty: story(Inbox, {}, { fake: { tasks: 28, inbox: [] } }),
    one: story(Inbox, {}, { fake: on([made.QUESTION]) }),
    "of 30": story(Inbox, {}, { fake: { tasks: 60, inbox: 30 } }),
    "of 10,000": story(Inbox, {}, { fake: { tasks: 10_000, inbox: 10_000 } }),
    loading: story(Inbox, {}, { fake: { connection: "connecting" } }),
    "cannot be read": story(Inbox, {}, { fake: { connection: "lost" } }),
    stale: story(Inbox, {}, { fake: on(made.SIX, { connection: "stale" }) }),
  },
} satisfies StoryFile;
