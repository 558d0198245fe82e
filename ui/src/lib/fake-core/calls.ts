/* What a made-up core answers, call by call. Effects that take time at a real server take time here, so that the states
   in between can be seen; stories override single calls. The calls about tasks and budgets have files of their own. */
import type { AgentFacts, ApiError, Calls, RuleDto, SessionDto } from "$lib/bindings";
import type { CallName } from "$lib/backend/backend";
import { auditCalls } from "./audit/calls";
import { sinkCalls } from "./audit/sinks";
import { budgetCalls } from "./budget-calls";
import type { CoreState } from "./core-state";
import { makeServer, toolsOf } from "./entities";
import { makeSettings } from "./programs";
import { NO_FIGURES } from "./query";
import { haltCalls } from "./halt/calls";
import { pauseCalls } from "./halt/pauses";
import { inboxCalls } from "./inbox/calls";
import { iso } from "./random";
import { auditFits, checkpointsFit, limitRows } from "./storage";
import { clientCalls } from "./servers/client-calls";
import { serverCalls } from "./servers/server-calls";
import { signInCalls } from "./servers/sign-in-calls";
import { taskCalls } from "./task-calls";
import { planCalls } from "./tasks/plans";

/** Calls that no screen makes: they are the command line's. */
type Unused =
  | "tasks.list"
  | "tasks.result"
  | "inbox"
  | "core.ping"
  | "budgets.series"
  | "audit.checkpoint"
  | "audit.compareNotes"
  | "audit.report"
  | "controlTokens.add"
  | "controlTokens.list"
  | "controlTokens.revoke";
export type Answered = Exclude<CallName, Unused>;
export type Answers = { [N in Answered]: (input: Calls[N][0]) => Calls[N][1] | Promise<Calls[N][1]> };

export function missing(what: string): ApiError {
  return { code: "notFound", message: `there is no ${what}`, hint: "It may have been removed meanwhile." };
}

/** How long a new agent takes to connect. */
const CONNECT_MS = 3_000;

export function answers(state: CoreState): Answers {
  const server = (name: string) => {
    const found = state.servers.get(name);
    if (!found) throw missing(`server \`${name}\``);
    return found;
  };
  const me = state.core.person;
  const tasks = taskCalls(state);
  const limits = () => {
    const questions = [...state.inbox.values()].filter((row) => row.key !== null);
    return limitRows(state.storage, [...state.agents.values()], questions.length);
  };
  /** The first server that cannot be reached as it should. */
  const sick = () => [...state.servers.values()].find((one) => one.agreed && one.health.why !== null);

  return {
    ...tasks,
    ...inboxCalls(state, tasks),
    ...budgetCalls(state),
    ...auditCalls(state),
    ...sinkCalls(state),
    "servers.add": ({ name, address }) => {
      const made = {
        ...makeServer(name, state.servers.size, state.now()),
        address,
        health: { kind: "up" as const, since: iso(state.now()), why: null, hint: null, retryAt: null },
        agreed: true,
      };
      state.servers.set(name, made);
      state.send({ servers: [made] });
      return { server: made, tools: toolsOf(made.name) };
    },
    "servers.locate": ({ command }) => ({ program: command.startsWith("/") ? command : `/usr/bin/${command}` }),
    "servers.list": () => ({ servers: [...state.servers.values()] }),
    "servers.show": ({ name }) => server(name),
    "servers.tools": ({ name }) => ({ tools: toolsOf(server(name).name), callsSince: state.core.startedAt }),
    "servers.remove": ({ name }) => {
      const lostTasks = server(name).figures.open;
      state.servers.delete(name);
      state.send({ goneServers: [name] });
      return { name, lostTasks, left: [] };
    },
    "servers.agree": ({ name }) => {
      const agreed = { ...server(name), agreed: true, agreedBy: me, agreedAt: iso(state.now()) };
      state.servers.set(name, agreed);
      state.send({ servers: [agreed] });
      return agreed;
    },
    ...serverCalls(state, server),
    ...signInCalls(state, server),
    ...clientCalls(state),
    "agents.add": ({ name, taskTools, program, save }) => {
      const agent: AgentFacts = {
        id: `agt_${name}`,
        name,
        createdAt: iso(state.now()),
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
        connectedSince: null,
        sessions: [],
        tokenMadeAt: iso(state.now()),
      };
      state.agents.set(agent.id, agent);
      state.send({ agents: [...state.agents.values()] });
      const token = "twa_6h0Lw2rXyN8cQm4TzV1sKd7PfJ9bGa3EuR5oYi0WtSx";
      setTimeout(() => {
        state.agents.set(agent.id, {
          ...agent,
          connected: true,
          seenAt: iso(state.now()),
          client: `${program ?? "claude-code"} 2.1.7`,
        });
        state.send({ agents: [...state.agents.values()] });
      }, CONNECT_MS);
      return {
        agent,
        token,
        url: state.core.agentsAt.url,
        saved: save === true ? `${state.core.home}/agents/${name}.token` : null,
        settings: makeSettings(name, token, state.core.agentsAt.url, save === true),
      };
    },
    "agents.list": () => ({ agents: [...state.agents.values()] }),
    "agents.newToken": ({ agent }) => {
      const held = state.agents.get(agent);
      if (!held) throw missing(`agent \`${agent}\``);
      const next = {
        ...held,
        connected: false,
        connectedSince: null,
        sessions: [],
        tokenMadeAt: iso(state.now()),
      };
      state.agents.set(agent, next);
      state.send({ agents: [...state.agents.values()] });
      const token = "twa_9k2Mw7rQyB1cXm4TzV1sKd7PfJ9bGa3EuR5oYi0WtZz";
      const { url } = state.core.agentsAt;
      const settings = makeSettings(held.name, token, url);
      return { agent: next, token, url, settings, savedIn: null, endedSessions: held.sessions.length };
    },
    "agents.check": ({ agent }) => {
      const held = state.agents.get(agent);
      if (!held) throw missing(`agent \`${agent}\``);
      const { url, why } = state.core.agentsAt;
      const servers = [...state.servers.values()];
      const down = servers.filter((one) => !one.agreed || one.health.kind !== "up");
      return {
        checkedAt: iso(state.now()),
        url,
        urlWhy: why,
        http: url === null ? null : { tookMs: 4, why: null },
        command: { tookMs: 2, why: null },
        seenAt: held.seenAt,
        seenThrough: held.sessions[0]?.door ?? null,
        tokenUsed: held.seenAt !== null && held.seenAt > held.tokenMadeAt,
        serversUp: servers.length - down.length,
        servers: servers.length,
        serversDown: down.map(({ name, health }) => ({ name, why: health.why })),
        waitsMs: held.learnedTimeoutMs,
        waitsLearned: held.learnedTimeoutMs !== null,
      };
    },
    "agents.revoke": ({ agent }) => {
      const held = state.agents.get(agent);
      if (!held) throw missing(`agent \`${agent}\``);
      const gone = {
        ...held,
        revokedAt: iso(state.now()),
        connected: false,
        openTasks: 0,
        waiting: 0,
        figures: NO_FIGURES,
      };
      state.agents.set(agent, gone);
      state.send({ agents: [...state.agents.values()] });
      return { agent: gone, stopped: held.figures.open, stops: [], left: [] };
    },
    "rules.list": () => ({ rules: state.rules }),
    "rules.put": (rule) => {
      const same = (other: RuleDto) => JSON.stringify(other.scope) === JSON.stringify(rule.scope);
      const version = (state.rules.find(same)?.version ?? 0) + 1;
      state.rules = [...state.rules.filter((other) => !same(other)), { ...rule, version }];
      state.send({ rules: state.rules });
      return { rules: state.rules };
    },
    "demo.address": () => ({
      kind: "stdio",
      command: "taskwarden",
      args: ["demo-server"],
      env: {},
      secretEnv: [],
      cwd: null,
    }),
    "desk.list": ({ kind }) => ({ items: [...state.userData.values()].filter((item) => item.kind === kind) }),
    "desk.put": ({ kind, key, value }) => {
      if (value === null) state.userData.delete(`${kind}/${key}`);
      else state.userData.set(`${kind}/${key}`, { kind, key, value, changedAt: iso(state.now()) });
      if (kind === "view") state.send({ views: state.viewsOf() });
      const snoozed = kind === "snooze" ? state.inbox.get(key) : undefined;
      if (snoozed) {
        const kept = (value ?? {}) as { until?: string; changedAt?: string };
        const asleep = {
          ...snoozed,
          snoozedUntil: kept.until ?? null,
          snoozedUntilChange: kept.until === undefined && kept.changedAt === snoozed.changedAt,
        };
        state.inbox.set(key, asleep);
        state.send({ inbox: [asleep] });
      }
      return {};
    },
    recording: () => state.recording,
    "storage.show": () => state.storage,
    "storage.set": ({ preview, ...change }) => {
      if (preview) return state.storage;
      const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null));
      state.storage = { ...state.storage, limits: { ...state.storage.limits, ...given } };
      return state.storage;
    },
    "storage.clean": () => {
      const removed = state.storage.due;
      state.storage = {
        ...state.storage,
        due: { payloadTasks: 0, payloadBytes: 0, tasks: 0, receipts: 0, auditRows: 0 },
      };
      return { removed, storage: state.storage };
    },
    "audit.verify": () => auditFits(state.audit),
    "audit.verifyReceipts": () => ({ batches: 40, receipts: state.receipts, removed: 0, broken: null, next: null }),
    "audit.verifyTree": () => checkpointsFit(state.audit.last),
    "sessions.list": () => ({ sessions: state.sessions }),
    "sessions.revoke": (input) => {
      const isMeant = (session: SessionDto) => (input.which === "one" ? session.id === input.id : !session.current);
      const ended = state.sessions.filter(isMeant);
      if (input.which === "one" && ended.length === 0) throw missing(`browser session \`${input.id}\``);
      state.sessions = state.sessions.filter((session) => !isMeant(session));
      return { sessions: ended };
    },
    ...planCalls(state, tasks),
    ...haltCalls(state),
    ...pauseCalls(state),
    "limits.show": () => ({ rows: limits() }),
    "settings.change": (change) => {
      state.settings = { ...state.settings, ...change };
      state.send({ settings: state.settings });
      return state.settings;
    },
    "feed.focus": ({ query, ids, task: open, visible }) => {
      state.refocus({ query, ids, task: open, visible });
      return {};
    },
    "doctor.run": () => ({
      findings: [
        { area: "data", grade: "fine", message: `\`${state.core.home}\` is private`, cure: null },
        {
          area: "disk",
          grade: "note",
          message: "310 MiB are free",
          cure: "Free some space before the registry needs it.",
        },
        { area: "core", grade: "fine", message: `process ${state.core.process} answers`, cure: null },
        ...[sick()].flatMap((one) =>
          one === undefined
            ? []
            : [
                {
                  area: `server ${one.name}`,
                  grade: "broken" as const,
                  message: one.health.why ?? "",
                  cure: one.health.hint,
                },
              ],
        ),
      ],
      broken: sick() === undefined ? 0 : 1,
      kept: [{ process: 48_213, keeper: 48_210, command: "/usr/bin/npx" }],
      keptMs: 600_000,
    }),
    doctor: () => ({
      version: state.core.version,
      process: state.core.process,
      registry: state.core.home,
      schema: 1,
      tasks: state.rows.size,
      openRequests: state.inbox.size,
      auditRows: state.storage.stored.audit.rows,
      bytes: state.storage.fileBytes,
      findings: state.core.registryFindings,
      secrets: state.core.secrets,
      agentsAt: state.core.agentsAt,
      named: {
        drifted: [],
        sinks: state.sinks,
        servers: [...state.servers.values()],
        agents: [...state.agents.values()],
        limits: limits(),
        halt: state.halt,
      },
      recording: state.recording,
      storage: state.storage,
      audit: auditFits(state.audit),
      rechecked: { rows: state.audit.last, of: state.audit.last, broken: null },
      receipts: { batches: 40, receipts: state.receipts, removed: 0, broken: null, next: null },
      checkpoints: checkpointsFit(state.audit.last),
      anchors: state.anchors,
    }),
  };
}
