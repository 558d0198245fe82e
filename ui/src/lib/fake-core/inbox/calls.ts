/* What a made-up core answers about answered questions, rules that answer, and several items at once. */
import type { AnsweredDto, AnswerRuleDto, Calls } from "$lib/bindings";
import type { CoreState } from "../core-state";
import type { Answers } from "../calls";
import { iso } from "../random";

type Calling = Pick<
  Answers,
  | "inbox.answer"
  | "inbox.undoAnswer"
  | "inbox.lost"
  | "inbox.resolve"
  | "inbox.answered"
  | "answers.rules"
  | "answers.remember"
  | "answers.end"
  | "alarms.list"
  | "alarms.dismiss"
  | "alarms.decide"
>;
type Tasks = Pick<Answers, "tasks.answer" | "tasks.undoAnswer" | "tasks.unwatch">;

const MINUTE_MS = 60_000;

export function inboxCalls(state: CoreState, tasks: Tasks): Calling {
  const me = state.core.person;
  const stored = state.answered.map((one, at) => made(one, at, state.now()));
  let rules: AnswerRuleDto[] = [...state.answerRules];
  const all = async (questions: Calls["inbox.answer"][0]["questions"], each: (id: string, key: string) => unknown) => {
    for (const { id, key } of questions) await each(id, key);
    return { done: questions, left: [] };
  };
  return {
    "inbox.answer": ({ questions, action, content }) =>
      all(questions, (id, key) => tasks["tasks.answer"]({ id, key, action, content: content ?? null, hold: true })),
    "inbox.undoAnswer": ({ questions }) => all(questions, (id, key) => tasks["tasks.undoAnswer"]({ id, key })),
    "inbox.lost": ({ id }) => [...state.inbox.values()].filter((row) => row.task === id),
    "inbox.resolve": async ({ id, note }) => {
      const cause = [...state.inbox.values()].find((row) => row.calls?.some((call) => call.task === id));
      const lost = cause?.calls?.map((call) => call.task) ?? [id];
      if (cause === undefined) await tasks["tasks.unwatch"]({ id, note: note ?? null });
      else {
        state.inbox.delete(cause.id);
        state.send({ goneInbox: [cause.id] });
      }
      return { resolved: cause?.callCount ?? lost.length, left: [] };
    },
    "alarms.list": () => ({ alarms: [...state.inbox.values()].flatMap(({ alarm }) => (alarm ? [alarm] : [])) }),
    "alarms.dismiss": ({ ids }) => {
      const rows = [...state.inbox.values()].filter(({ alarm }) => alarm !== undefined && ids.includes(alarm.id));
      for (const { id } of rows) state.inbox.delete(id);
      state.send({ goneInbox: rows.map(({ id }) => id) });
      return { alarms: rows.flatMap(({ alarm }) => (alarm ? [{ ...alarm, state: "dismissed" as const }] : [])) };
    },
    "alarms.decide": ({ ids, calls }) => {
      const rows = [...state.inbox.values()].filter(({ alarm }) => alarm !== undefined && ids.includes(alarm.id));
      for (const { id } of rows) state.inbox.delete(id);
      state.send({ goneInbox: rows.map(({ id }) => id) });
      const over = { state: "dismissed", asks: false, decision: calls } as const;
      return { alarms: rows.flatMap(({ alarm }) => (alarm ? [{ ...alarm, ...over }] : [])) };
    },
    "inbox.answered": ({ offset, limit }) => ({
      items: stored.slice(offset ?? 0, (offset ?? 0) + (limit ?? 50)),
      total: stored.length,
      offset: offset ?? 0,
    }),
    "answers.rules": () => ({ rules }),
    "answers.remember": ({ id, key, action }) => {
      const from = stored.find((one) => one.task === id && one.key === key);
      const row = [...state.inbox.values()].find((one) => one.task === id);
      const rule: AnswerRuleDto = {
        id: `ans_${rules.length + 1}`,
        version: 1,
        server: from?.server ?? row?.server ?? "ci-server",
        tool: from?.tool ?? row?.tool ?? "deploy_prod",
        question: from?.message ?? row?.message ?? "",
        action: (action ?? from?.action) === "decline" ? "decline" : "accept",
        fields: from?.fields ?? [],
        by: me,
        since: iso(state.now()),
        applied: 0,
        appliedAt: null,
        endedBy: null,
        endedAt: null,
      };
      rules = [...rules, rule];
      return { rules };
    },
    "answers.end": ({ rule }) => {
      rules = rules.map((one) => (one.id === rule ? { ...one, endedBy: me, endedAt: iso(state.now()) } : one));
      return { rules };
    },
  };
}

function made(given: Partial<AnsweredDto>, at: number, now: number): AnsweredDto {
  return {
    task: `hdl_answered${at.toString(36)}`,
    key: "ask-1",
    server: "ci-server",
    tool: "deploy_prod",
    agent: "claude-code",
    message: "Build 8841 is green. How should v4.12.0 roll out?",
    action: "accept",
    fields: [
      { title: "Rollout", value: "Canary 10 %, then everyone" },
      { title: "Regions", value: "eu-west-1, us-east-1" },
    ],
    isErased: false,
    by: "Mara Lindqvist",
    rule: null,
    at: iso(now - (at + 1) * 7 * MINUTE_MS),
    origin: { door: "window", process: 4_711, executable: "/usr/bin/taskwarden-desktop" },
    delivery: "acknowledged",
    isOver: false,
    answeredByRule: null,
    noRule: null,
    ...given,
  };
}
