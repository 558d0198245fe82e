/* What a made-up core answers. Effects that take time at a real server take time here, so that in-between states
   can be seen; stories override single calls. */
import type {
  AgentFacts,
  ApiError,
  BudgetDto,
  Calls,
  RequestDto,
  RuleDto,
  SessionDto,
  TaskDto,
  TaskRow,
} from "$lib/bindings";
import type { CallName } from "$lib/backend/backend";
import { CHOICES, makeSeries, makeShown, makeWaste, windowAfter } from "./budgets";
import { iso } from "./chance";
import { makeSettings } from "./programs";
import { fits, NO_FIGURES, page, view } from "./query";
import { makeRow } from "./rows";
import { makeServer, TOOLS } from "./things";
import { AUDIT_FITS, LIMIT_ROWS } from "./storage";
import type { World } from "./world";

/** Calls that no screen makes: they are the command line's. */
type Unused = "tasks.list" | "tasks.result" | "inbox" | "core.ping";
export type Answered = Exclude<CallName, Unused>;
export type Answers = { [N in Answered]: (input: Calls[N][0]) => Calls[N][1] | Promise<Calls[N][1]> };

const HOLD_MS = 5_000;
const LEAVE_MS = 3_000;

function missing(what: string): ApiError {
  return { code: "notFound", message: `there is no ${what}`, hint: "It may have been removed meanwhile." };
}

export function answers(world: World): Answers {
  const task = (id: string): TaskDto => {
    const found = world.task(id);
    if (!found) throw missing(`task \`${id}\``);
    return found;
  };
  const server = (name: string) => {
    const found = world.servers.get(name);
    if (!found) throw missing(`server \`${name}\``);
    return found;
  };
  const budget = (agent: string): BudgetDto => {
    const found = world.budgets.find((one) => one.agentId === agent || one.agent === agent);
    if (!found) throw missing(`agent \`${agent}\``);
    return found;
  };
  const me = world.core.person;

  function settle(id: string, key: string, answer: RequestDto["answer"], state: RequestDto["state"]): RequestDto {
    const whole = task(id);
    const requests = whole.requests.map((one) => (one.key === key ? { ...one, answer, state } : one));
    const found = requests.find((one) => one.key === key);
    if (!found) throw missing(`question \`${key}\``);
    world.details.set(id, { ...whole, requests });
    world.send({ changes: 1, task: world.focus.task === id ? task(id) : null });
    return found;
  }

  function leave(inboxId: string, by: string): void {
    const row = world.inbox.get(inboxId);
    if (!row) return;
    const gone = { ...row, answeredBy: by };
    world.inbox.set(inboxId, gone);
    world.send({ inbox: [gone] });
    setTimeout(() => {
      world.inbox.delete(inboxId);
      world.send({ goneInbox: [inboxId] });
    }, LEAVE_MS);
  }

  function stop(id: string, reason: string | null | undefined): void {
    const at = iso(world.now());
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
    world.change(id, { phase: "cancelling", group: "moving", stopState: "asked" }, { intent });
    setTimeout(
      () =>
        world.change(
          id,
          { stopState: "acknowledged" },
          { intent: { ...intent, state: "acknowledged", acknowledgedAt: iso(world.now()) } },
        ),
      900,
    );
    setTimeout(() => {
      const ended = iso(world.now());
      world.change(
        id,
        { phase: "cancelled", group: "finished", status: "cancelled", stopState: "stopped", endedAt: ended },
        { intent: { ...intent, state: "stopped", acknowledgedAt: ended } },
      );
    }, 4_000);
  }

  return {
    "servers.add": ({ name, address }) => {
      const made = {
        ...makeServer(name, world.servers.size, world.now()),
        address,
        health: { kind: "up" as const, since: iso(world.now()), why: null, hint: null, retryAt: null },
        agreed: true,
      };
      world.servers.set(name, made);
      world.send({ servers: [made] });
      return { server: made, tools: [...TOOLS] };
    },
    "servers.locate": ({ command }) => ({ program: command.startsWith("/") ? command : `/usr/bin/${command}` }),
    "servers.list": () => ({ servers: [...world.servers.values()] }),
    "servers.show": ({ name }) => server(name),
    "servers.tools": ({ name }) => ({ tools: server(name) ? [...TOOLS] : [] }),
    "servers.remove": ({ name }) => {
      const lostTasks = server(name).figures.open;
      world.servers.delete(name);
      world.send({ goneServers: [name] });
      return { name, lostTasks };
    },
    "servers.agree": ({ name }) => {
      const agreed = { ...server(name), agreed: true, agreedBy: me, agreedAt: iso(world.now()) };
      world.servers.set(name, agreed);
      world.send({ servers: [agreed] });
      return agreed;
    },
    "agents.add": ({ name, taskTools, program }) => {
      const agent: AgentFacts = {
        id: `agt_${name}`,
        name,
        createdAt: iso(world.now()),
        revokedAt: null,
        seenAt: null,
        client: null,
        calls: 0,
        openTasks: 0,
        waiting: 0,
        figures: NO_FIGURES,
        taskTools: taskTools ?? true,
        learnedTimeoutMs: null,
        connected: false,
      };
      world.agents.set(agent.id, agent);
      world.send({ agents: [...world.agents.values()] });
      const token = "twa_6h0Lw2rXyN8cQm4TzV1sKd7PfJ9bGa3EuR5oYi0WtSx";
      setTimeout(() => {
        world.agents.set(agent.id, {
          ...agent,
          connected: true,
          seenAt: iso(world.now()),
          client: `${program ?? "claude-code"} 2.1.7`,
        });
        world.send({ agents: [...world.agents.values()] });
      }, LEAVE_MS);
      return {
        agent,
        token,
        url: world.core.agentsAt.url,
        settings: makeSettings(name, token, world.core.agentsAt.url),
      };
    },
    "agents.list": () => ({ agents: [...world.agents.values()] }),
    "agents.revoke": ({ agent }) => {
      const held = world.agents.get(agent);
      if (!held) throw missing(`agent \`${agent}\``);
      const gone = {
        ...held,
        revokedAt: iso(world.now()),
        connected: false,
        openTasks: 0,
        waiting: 0,
        figures: NO_FIGURES,
      };
      world.agents.set(agent, gone);
      world.send({ agents: [...world.agents.values()] });
      return { agent: gone, stopped: held.figures.open, stops: [] };
    },
    "rules.list": () => ({ rules: world.rules }),
    "rules.put": (rule) => {
      const same = (other: RuleDto) => JSON.stringify(other.scope) === JSON.stringify(rule.scope);
      world.rules = [...world.rules.filter((other) => !same(other)), rule];
      world.send({ rules: world.rules });
      return { rules: world.rules };
    },
    "demo.address": () => ({
      kind: "stdio",
      command: "taskwarden",
      args: ["demo-server"],
      env: {},
      secretEnv: [],
      cwd: null,
    }),
    "tasks.start": ({ server: name, tool }) => {
      const row: TaskRow = {
        ...makeRow(world.rows.size, "running", world.now()),
        server: name,
        tool,
        agent: null,
        createdAt: iso(world.now()),
      };
      world.rows.set(row.id, row);
      world.change(row.id, {});
      return task(row.id);
    },
    "tasks.page": ({ query, group, offset, limit }) => ({
      rows: page(world.rows.values(), query, group, world.now()).slice(offset, offset + limit),
      view: view(world.rows.values(), query, world.now()),
    }),
    "tasks.counts": ({ queries }) => ({
      counts: queries.map((query) => view(world.rows.values(), query, world.now()).total),
    }),
    "tasks.show": ({ id }) => ({
      ...task(id),
      log: [
        { at: task(id).createdAt, status: "working", text: "Started" },
        { at: task(id).changedAt, status: task(id).status ?? "working", text: task(id).statusMessage ?? "" },
      ],
      decisions: [],
    }),
    "tasks.history": ({ id }) => {
      const { agent, server: name, createdAt, changedAt, requests } = task(id);
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
          {
            at: createdAt,
            lane: "server" as const,
            actor: "server" as const,
            verb: "accepted" as const,
            who: name,
            key: null,
            note: "",
          },
          ...requests.map((one) => ({
            at: one.openedAt,
            lane: "server" as const,
            actor: "server" as const,
            verb: "asked" as const,
            who: name,
            key: one.key,
            note: "",
          })),
        ],
        log: [
          { at: createdAt, status: "working", text: "Started" },
          { at: changedAt, status: "working", text: "Canary image pushed" },
        ],
        looks: Array.from({ length: 12 }, (_, at) =>
          iso(Date.parse(createdAt) + ((world.now() - Date.parse(createdAt)) * at) / 12),
        ),
      };
    },
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
      const notBefore = hold ? iso(world.now() + HOLD_MS) : null;
      const request = settle(
        id,
        open.key,
        { action, by: me, at: iso(world.now()), delivery: "recorded", refusedWhy: null, notBefore },
        "answered",
      );
      setTimeout(
        () => {
          if (task(id).requests.find((one) => one.key === open.key)?.state !== "answered") return;
          settle(
            id,
            open.key,
            { action, by: me, at: iso(world.now()), delivery: "acknowledged", refusedWhy: null, notBefore: null },
            "confirmed",
          );
          world.change(id, {
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
        ? [...world.rows.values()]
            .filter((row) => row.group !== "finished" && fits(row, query, world.now()))
            .map((row) => row.id)
        : [];
      const all = [...new Set([...ids, ...more])];
      for (const id of all) stop(id, reason);
      return { stops: all.map((id) => ({ id, state: "asked", why: null, task: task(id) })) };
    },
    "tasks.revoke": ({ id }) => {
      world.change(id, { phase: "revoked", group: "moving" });
      return { stops: [{ id, state: "asked", why: null, task: task(id) }] };
    },
    "tasks.unwatch": ({ id }) => {
      world.change(id, { phase: "unwatched", group: "noNews" });
      for (const row of world.inbox.values()) if (row.task === id) leave(row.id, me);
      return task(id);
    },
    "tasks.hold": ({ id }) => {
      const held: NonNullable<TaskDto["held"]> = {
        at: iso(world.now()),
        by: me,
        verdict: null,
        why: "review",
        tokens: null,
        limit: null,
        program: null,
        free: null,
      };
      world.change(id, { held }, { held });
      return task(id);
    },
    "tasks.release": ({ id, deliver, reason, form, trimTokens }) => {
      const before = task(id).held;
      const verdict = {
        delivered: deliver,
        by: me,
        at: iso(world.now()),
        reason: reason ?? null,
        form: deliver ? (form ?? "whole") : null,
        byLimit: false,
        trimTokens: trimTokens ?? null,
      };
      const held: NonNullable<TaskDto["held"]> = {
        at: before?.at ?? iso(world.now()),
        by: before?.by ?? me,
        why: before?.why ?? "review",
        tokens: before?.tokens ?? null,
        limit: before?.limit ?? null,
        program: before?.program ?? null,
        free: before?.free ?? null,
        verdict,
      };
      world.change(id, { held }, { held });
      for (const { agentId, coming } of world.budgets) {
        if (coming.some((one) => one.id === id))
          world.budget(agentId, (budget) => ({ ...budget, coming: budget.coming.filter((one) => one.id !== id) }));
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
      world.change(id, {}, { overLimit: { ...overLimit, settledBy: me } });
      leave(`${id}/overLimit`, me);
      return task(id);
    },
    "budgets.list": () => world.budgetList(),
    "budgets.show": ({ agent }) => makeShown(budget(agent), world.now()),
    "budgets.set": ({ agent, model, family, windowTokens }) => {
      const held = budget(agent);
      const set = CHOICES.models.find((one) => one.name === model);
      const known = CHOICES.families.find((one) => one.id === (family ?? set?.family)) ?? held.family;
      world.budget(held.agentId, (one) => ({
        ...one,
        model: model ?? null,
        family: known,
        windowTokens: windowTokens ?? set?.windowTokens ?? null,
        windowFrom: windowTokens != null ? "set" : set ? "model" : null,
      }));
      return budget(agent);
    },
    "budgets.empty": ({ agent }) => {
      const { agentId } = budget(agent);
      world.budget(agentId, (one) => ({
        ...one,
        now: one.now === null ? null : windowAfter(one.now, world.now()),
        burnPerMinute: 0,
        fullInMs: null,
      }));
      return budget(agent);
    },
    "budgets.series": ({ agent, spanMs, stepMs }) => {
      // What an agent spent stays when it has no budget any more.
      const isGone = agent != null && world.agents.has(agent) && !world.budgets.some((one) => one.agentId === agent);
      const whose = agent == null ? world.budgets : isGone ? [] : [budget(agent)];
      return makeSeries(
        spanMs,
        stepMs,
        world.now(),
        Math.max(1, whose.length),
        isGone ? ["o200k"] : [...new Set(whose.map((one) => one.family.id))],
      );
    },
    "budgets.waste": () => ({ servers: makeWaste() }),
    "budgets.choices": () => CHOICES,
    "tasks.lookNow": ({ id }) => {
      world.change(id, { lastSeenAt: iso(world.now()) });
      return task(id);
    },
    "tasks.adopt": ({ server: name }) => {
      const row: TaskRow = { ...makeRow(world.rows.size, "running", world.now()), server: name, agent: null };
      world.rows.set(row.id, row);
      world.change(row.id, {});
      return task(row.id);
    },
    "desk.list": ({ kind }) => ({ items: [...world.desk.values()].filter((item) => item.kind === kind) }),
    "desk.put": ({ kind, key, value }) => {
      if (value === null) world.desk.delete(`${kind}/${key}`);
      else world.desk.set(`${kind}/${key}`, { kind, key, value, changedAt: iso(world.now()) });
      if (kind === "view") world.send({ views: world.viewsOf() });
      const snoozed = kind === "snooze" ? world.inbox.get(key) : undefined;
      if (snoozed) {
        const until =
          value !== null && typeof value === "object" && "until" in value && typeof value.until === "string"
            ? value.until
            : null;
        world.inbox.set(key, { ...snoozed, snoozedUntil: until });
        world.send({ inbox: [{ ...snoozed, snoozedUntil: until }] });
      }
      return {};
    },
    recording: () => world.recording,
    "storage.show": () => world.storage,
    "storage.set": (change) => {
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
      world.storage = { ...world.storage, limits: { ...world.storage.limits, ...given } };
      return world.storage;
    },
    "storage.clean": () => {
      const removed = world.storage.due;
      world.storage = { ...world.storage, due: { payloadTasks: 0, payloadBytes: 0, tasks: 0, auditRows: 0 } };
      return { removed, storage: world.storage };
    },
    "audit.verify": () => AUDIT_FITS,
    "sessions.list": () => ({ sessions: world.sessions }),
    "sessions.revoke": (input) => {
      const isMeant = (session: SessionDto) => (input.which === "one" ? session.id === input.id : !session.current);
      const ended = world.sessions.filter(isMeant);
      if (input.which === "one" && ended.length === 0) throw missing(`browser session \`${input.id}\``);
      world.sessions = world.sessions.filter((session) => !isMeant(session));
      return { sessions: ended };
    },
    "limits.show": () => ({ rows: LIMIT_ROWS }),
    "settings.change": (change) => {
      world.settings = { ...world.settings, ...change };
      world.send({ settings: world.settings });
      return world.settings;
    },
    "feed.focus": ({ query, ids, task: open, visible }) => {
      world.refocus({ query, ids, task: open, visible });
      return {};
    },
    doctor: () => ({
      version: world.core.version,
      process: world.core.process,
      registry: world.core.home,
      schema: 1,
      tasks: world.rows.size,
      openRequests: world.inbox.size,
      auditRows: 0,
      bytes: 0,
      findings: world.core.registryFindings,
      secrets: world.core.secrets,
      agentsAt: world.core.agentsAt,
      named: { servers: [...world.servers.values()], agents: [...world.agents.values()], limits: LIMIT_ROWS },
      recording: world.recording,
      storage: world.storage,
      audit: AUDIT_FITS,
    }),
  };
}
