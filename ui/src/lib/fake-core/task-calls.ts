/* What a made-up core answers about tasks, their questions, results and cancels. */
import type { ApiError, AuditVerb, RequestDto, TaskDto, TaskRow, TaskRunLimitDto, TakenStep } from "$lib/bindings";
import { fakeEscalation, takenStep } from "./tasks/escalation";
import { missing, type Answers } from "./calls";
import type { CoreState } from "./core-state";
import { fits, page, view } from "./query";
import { iso } from "./random";
import { makeRow } from "./rows";

/** How long an answer can be taken back. */
const HOLD_MS = 5_000;
/** How long an answered item stays in the list. */
const LEAVE_MS = 3_000;

/** An event that the server brought about. */
const happened = (at: string, verb: AuditVerb, who: string) => ({
  at,
  lane: "server" as const,
  actor: "server" as const,
  verb,
  who,
  key: null,
  note: "",
});

type TaskCall = Extract<keyof Answers, `tasks.${string}`>;

export function taskCalls(state: CoreState): Pick<Answers, TaskCall> {
  const task = (id: string): TaskDto => {
    const found = state.task(id);
    if (!found) throw missing(`task \`${id}\``);
    return found;
  };
  const me = state.core.person;

  function settle(
    id: string,
    key: string,
    answer: RequestDto["answer"],
    requestState: RequestDto["state"],
  ): RequestDto {
    const whole = task(id);
    const requests = whole.requests.map((one) => (one.key === key ? { ...one, answer, state: requestState } : one));
    const found = requests.find((one) => one.key === key);
    if (!found) throw missing(`question \`${key}\``);
    state.details.set(id, { ...whole, requests });
    state.send({ changes: 1, task: state.focus.task === id ? task(id) : null });
    return found;
  }

  function leave(inboxId: string, by: string): void {
    const row = state.inbox.get(inboxId);
    if (!row) return;
    const gone = { ...row, answeredBy: by };
    state.inbox.set(inboxId, gone);
    state.send({ inbox: [gone] });
    setTimeout(() => {
      state.inbox.delete(inboxId);
      state.send({ goneInbox: [inboxId] });
    }, LEAVE_MS);
  }

  const steps = new Map<string, TakenStep[]>();
  const escalation = (id: string) => fakeEscalation(task(id), state.servers.get(task(id).server), steps.get(id) ?? []);

  function stop(id: string, reason: string | null | undefined): void {
    const at = iso(state.now());
    const intent: NonNullable<TaskDto["intent"]> = {
      kind: "cancel",
      at,
      by: me,
      reason: reason ?? null,
      state: "asked",
      refusedWhy: null,
      sentAt: at,
      acknowledgedAt: null,
    };
    state.change(id, { phase: "cancelling", group: "moving", stopState: "asked" }, { intent });
    setTimeout(
      () =>
        state.change(
          id,
          { stopState: "acknowledged" },
          { intent: { ...intent, state: "acknowledged", acknowledgedAt: iso(state.now()) } },
        ),
      900,
    );
    setTimeout(() => {
      const ended = iso(state.now());
      state.change(
        id,
        { phase: "cancelled", group: "finished", status: "cancelled", stopState: "stopped", endedAt: ended },
        { intent: { ...intent, state: "stopped", acknowledgedAt: ended } },
      );
    }, 4_000);
  }

  return {
    "tasks.start": ({ server: name, tool }) => {
      const row: TaskRow = {
        ...makeRow(state.rows.size, "running", state.now()),
        server: name,
        tool,
        agent: null,
        createdAt: iso(state.now()),
      };
      state.rows.set(row.id, row);
      state.change(row.id, {});
      return task(row.id);
    },
    "tasks.page": ({ query, group, offset, limit }) => ({
      rows: page(state.rows.values(), query, group, state.now(), state.hidden).slice(offset, offset + limit),
      view: view(state.rows.values(), query, state.now(), state.hidden),
    }),
    "tasks.counts": ({ queries }) => ({
      counts: queries.map((query) => view(state.rows.values(), query, state.now(), state.hidden).total),
    }),
    "tasks.show": ({ id }) => ({
      ...task(id),
      log: [
        { at: task(id).createdAt, status: "working", text: "Started" },
        { at: task(id).changedAt, status: task(id).status ?? "working", text: task(id).statusMessage ?? "" },
      ],
      decisions: [],
      escalation: escalation(id),
    }),
    "tasks.history": ({ id }) => {
      const { agent, server: name, createdAt, changedAt, phase, requests, status, statusMessage } = task(id);
      return {
        events: [
          {
            at: createdAt,
            lane: agent ? ("agent" as const) : ("person" as const),
            actor: agent ? ("agent" as const) : ("person" as const),
            verb: "admitted" as const,
            who: agent ?? me,
            key: null,
            note: "",
          },
          ...(status === null ? [] : [happened(createdAt, "accepted", name)]),
          ...requests.map((one) => ({ ...happened(one.openedAt, "asked", name), key: one.key })),
          ...(phase === "lost" || phase === "unconfirmed" ? [happened(changedAt, phase, name)] : []),
        ],
        log: [
          ...(status === null ? [] : [{ at: createdAt, status: "working", text: "Started" }]),
          ...(statusMessage === null ? [] : [{ at: changedAt, status: "working", text: statusMessage }]),
        ],
        looks: Array.from({ length: 12 }, (_, at) =>
          iso(Date.parse(createdAt) + ((state.now() - Date.parse(createdAt)) * at) / 12),
        ),
      };
    },
    "tasks.answers": ({ id }) => ({
      answers: task(id)
        .requests.filter((one) => one.kind === "form" && one.answer?.action === "accept")
        .map((one) => ({
          key: one.key,
          fields: [
            { name: "batch", title: "Batch size", value: "5,000 rows" },
            { name: "retries", title: "Also for retries", value: "yes" },
            { name: "password", title: "Password", value: null },
          ],
          erased: false,
        })),
    }),
    "tasks.content": ({ id, of }) => ({
      bytes: task(id).result?.bytes ?? 640,
      isError: task(id).result?.isError ?? false,
      parts:
        of === "arguments"
          ? [
              {
                n: 0,
                kind: "json" as const,
                mime: "application/json",
                bytes: 48,
                preview: '{\n  "version": "4.12.0",\n  "dryRun": false\n}',
                cut: false,
                name: null,
                title: null,
                uri: null,
                description: null,
              },
            ]
          : [
              {
                n: 0,
                kind: "text" as const,
                mime: "text/plain",
                bytes: 42,
                preview: "Released v4.12.0 to 3 regions in 22 min.",
                cut: false,
                name: null,
                title: null,
                uri: null,
                description: null,
              },
              {
                n: 1,
                kind: "structured" as const,
                mime: "application/json",
                bytes: 90,
                preview: '{\n  "regions": [\n    "eu-west-1",\n    "us-east-1"\n  ],\n  "errors": 0.4\n}',
                cut: false,
                name: null,
                title: null,
                uri: null,
                description: null,
              },
            ],
    }),
    "tasks.piece": ({ offset, limit }) => ({
      text: "…".repeat(Math.min(limit, 1_000)),
      next: offset + limit < 5_000 ? offset + limit : null,
      bytes: 5_000,
    }),
    "tasks.raw": ({ id }) => ({
      messages: [
        { n: 0, at: task(id).createdAt, direction: "toServer" as const, about: "tools/call", bytes: 212, cut: false },
        {
          n: 1,
          at: task(id).changedAt,
          direction: "fromServer" as const,
          about: "input_required",
          bytes: 530,
          cut: false,
        },
      ],
    }),
    "tasks.answer": ({ id, key, action, hold }) => {
      const open = task(id).requests.find(
        (one) => one.state === "open" && (key === null || key === undefined || one.key === key),
      );
      if (!open)
        throw {
          code: "refused",
          message: "the question was answered already",
          hint: "Nothing was sent.",
        } satisfies ApiError;
      const notBefore = hold ? iso(state.now() + HOLD_MS) : null;
      const request = settle(
        id,
        open.key,
        { action, by: me, at: iso(state.now()), delivery: "recorded", refusedWhy: null, notBefore },
        "answered",
      );
      setTimeout(
        () => {
          if (task(id).requests.find((one) => one.key === open.key)?.state !== "answered") return;
          settle(
            id,
            open.key,
            { action, by: me, at: iso(state.now()), delivery: "acknowledged", refusedWhy: null, notBefore: null },
            "confirmed",
          );
          state.change(id, {
            phase: "running",
            group: "moving",
            openRequests: 0,
            status: "working",
            pausedSince: null,
          });
          leave(`${id}/${open.key}`, me);
        },
        hold ? HOLD_MS : 300,
      );
      return { id, request, stillOpen: task(id).requests.filter((one) => one.state === "open").length };
    },
    "tasks.undoAnswer": ({ id, key }) => {
      settle(id, key, null, "open");
      return task(id);
    },
    "tasks.cancel": ({ ids, query, reason }) => {
      const more = query
        ? [...state.rows.values()]
            .filter((row) => row.group !== "finished" && fits(row, query, state.now()))
            .map((row) => row.id)
        : [];
      const all = [...new Set([...ids, ...more])];
      for (const id of all) stop(id, reason);
      return { stops: all.map((id) => ({ id, state: "asked", why: null, task: task(id) })) };
    },
    "tasks.revoke": ({ id }) => {
      state.change(id, { phase: "revoked", group: "moving" });
      return { stops: [{ id, state: "asked", why: null, task: task(id) }] };
    },
    "tasks.escalate": ({ id, step, reason }) => {
      const number = step ?? 2;
      if (task(id).intent === null) stop(id, reason);
      steps.set(id, [...(steps.get(id) ?? []), takenStep(number, me, iso(state.now()), reason ?? null)]);
      return { step: number, task: task(id), escalation: escalation(id) };
    },
    "tasks.unwatch": ({ id }) => {
      state.change(id, { phase: "unwatched", group: "noNews" });
      for (const row of state.inbox.values()) if (row.task === id) leave(row.id, me);
      return task(id);
    },
    "tasks.hide": ({ ids, query }) => {
      const found = query ? page(state.rows.values(), query, null, state.now(), state.hidden) : [];
      const meant = [...ids.flatMap((id) => state.rows.get(id) ?? []), ...found];
      const hidden = meant.filter((row) => row.over && row.group !== "needsYou").map((row) => row.id);
      state.putHidden(hidden, true);
      return { ids: hidden, kept: meant.length - hidden.length };
    },
    "tasks.unhide": ({ ids, query }) => {
      const asked = query ? { ...query, flags: [...query.flags, "hidden" as const] } : null;
      const found = asked ? page(state.rows.values(), asked, null, state.now(), state.hidden) : [];
      const shown = [...ids, ...found.map((row) => row.id)];
      state.putHidden(shown, false);
      return { ids: shown, kept: 0 };
    },
    "tasks.hold": ({ id }) => {
      const held: NonNullable<TaskDto["held"]> = {
        at: iso(state.now()),
        by: me,
        verdict: null,
        why: "review",
        tokens: null,
        limit: null,
        program: null,
        free: null,
      };
      state.change(id, { held }, { held });
      return task(id);
    },
    "tasks.release": ({ id, deliver, reason, form, trimTokens }) => {
      const before = task(id).held;
      const verdict = {
        delivered: deliver,
        by: me,
        at: iso(state.now()),
        reason: reason ?? null,
        form: deliver ? (form ?? "whole") : null,
        byLimit: false,
        trimTokens: trimTokens ?? null,
      };
      const held: NonNullable<TaskDto["held"]> = {
        at: before?.at ?? iso(state.now()),
        by: before?.by ?? me,
        why: before?.why ?? "review",
        tokens: before?.tokens ?? null,
        limit: before?.limit ?? null,
        program: before?.program ?? null,
        free: before?.free ?? null,
        verdict,
      };
      state.change(id, { held }, { held });
      for (const { agentId, coming } of state.budgets) {
        if (coming.some((one) => one.id === id))
          state.budget(agentId, (budget) => ({ ...budget, coming: budget.coming.filter((one) => one.id !== id) }));
      }
      leave(`${id}/held`, me);
      return task(id);
    },
    "tasks.goOn": ({ id }) => {
      const { overLimit } = task(id);
      if (overLimit === null)
        throw {
          code: "refused",
          message: "nobody was asked whether it may go on",
          hint: "It may have ended meanwhile.",
        } satisfies ApiError;
      state.change(id, {}, { overLimit: { ...overLimit, settledBy: me } });
      leave(`${id}/overLimit`, me);
      return task(id);
    },
    "tasks.allowTime": ({ id, limit, moreMs }) => {
      const limits = task(id).runLimits ?? [];
      if (!limits.some((one) => one.kind === limit))
        throw {
          code: "refused",
          message: `this task has no ${limit} limit`,
          hint: "The rules that set one apply to calls that begin later.",
        } satisfies ApiError;
      const changed = (one: TaskRunLimitDto): TaskRunLimitDto =>
        moreMs == null
          ? { ...one, asks: false, removedBy: me }
          : {
              ...one,
              allowedMs: one.spentMs + moreMs,
              reachedAt: null,
              asks: false,
              dueAt: iso(state.now() + moreMs),
            };
      state.change(id, {}, { runLimits: limits.map((one) => (one.kind === limit ? changed(one) : one)) });
      leave(`${id}/timeLimit`, me);
      return task(id);
    },
    "tasks.lookNow": ({ id }) => {
      state.change(id, { lastSeenAt: iso(state.now()) });
      return task(id);
    },
    "tasks.recentArguments": () => ({ recent: [] }),
    "tasks.adopt": ({ server: name }) => {
      const row: TaskRow = { ...makeRow(state.rows.size, "running", state.now()), server: name, agent: null };
      state.rows.set(row.id, row);
      state.change(row.id, {});
      return task(row.id);
    },
  };
}
