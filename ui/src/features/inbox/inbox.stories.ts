import type { ApiError } from "$lib/bindings";
import type { FakeOptions } from "$lib/fake-core/backend";
import { story, type StoryFile } from "$lib/fake-core/story";
import Inbox from "./Inbox.svelte";
import * as made from "./inbox.example";
import type { Item } from "./inbox.example";

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
    "form as JSON": screen(made.QUESTION, { click: ["form [role=radiogroup] label:last-child"] }),
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
    "too large, trimmed": screen(made.TOO_LARGE, { click: ["[role=radiogroup] label:nth-child(3) input"] }),
    "too large, trim to correct": screen(made.TOO_LARGE, {
      click: ["[role=radiogroup] label:nth-child(3) input", ".trim input"],
      keys: ["Control+a", "x", "Control+Enter"],
    }),
    "too large, not delivering": screen(made.TOO_LARGE, { keys: ["d"] }),
    "too large, not sent": screen(made.TOO_LARGE, { fake: { calls: { "tasks.release": throwing } }, click: [SEND] }),
    "over its limit": screen(made.OVER_LIMIT),
    "over its limit, stopping": screen(made.OVER_LIMIT, { keys: ["c"] }),
    lost: screen(made.LOST),
    "lost, resolving": screen(made.LOST, { click: ["footer button:first-child"] }),
    unconfirmed: screen(made.UNCONFIRMED),
    blocked: screen(made.BLOCKED),
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
