/* What a made-up core answers about pauses of agents and servers. */
import type { PauseDto, TaskRow, WaitingCallDto } from "$lib/bindings";
import { missing, type Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";

type PauseCalls = Pick<Answers, "pauses.list" | "pauses.start" | "pauses.end">;

export function pauseCalls(state: CoreState): PauseCalls {
  const covers = (pause: PauseDto, row: TaskRow) =>
    row.paused !== undefined &&
    row.phase === "waiting" &&
    (pause.agent === null ? row.server === pause.server : row.agent === pause.agent);
  const calls = (pause: PauseDto): WaitingCallDto[] =>
    [...state.rows.values()]
      .filter((row) => covers(pause, row))
      .map(({ id, server, tool, agent, createdAt }) => ({ id, server, tool, agent, since: createdAt }));
  const agentOf = (name: string | null | undefined) => [...state.agents.values()].find((one) => one.name === name);
  const put = (of: { agent?: string | null; server?: string | null }, pause: PauseDto | undefined): void => {
    const agent = agentOf(of.agent);
    const server = state.servers.get(of.server ?? "");
    if (agent) {
      const { paused: _, ...rest } = agent;
      const next = pause ? { ...rest, paused: pause } : rest;
      state.agents.set(agent.id, next);
      state.send({ agents: [next] });
    } else if (server) {
      const { frozen: _, ...rest } = server;
      const next = pause ? { ...rest, frozen: pause } : rest;
      state.servers.set(server.name, next);
      state.send({ servers: [next] });
    } else throw missing("agent or server of this name");
  };
  const inForce = () =>
    [...[...state.agents.values()].map((one) => one.paused), ...[...state.servers.values()].map((one) => one.frozen)]
      .filter((pause) => pause !== undefined)
      .map((pause) => ({ ...pause, calls: calls(pause) }));
  return {
    "pauses.list": () => ({ pauses: inForce() }),
    "pauses.start": ({ agent = null, server = null, holdResults = false, reason }) => {
      const pause: PauseDto = {
        id: `pau_${agent ?? server ?? ""}`,
        agent,
        server,
        since: iso(state.now()),
        by: state.core.person,
        reason: reason ?? "",
        holdsResults: holdResults,
        waiting: 0,
        mustChoose: false,
        processes: server === null ? null : { stopped: 4, moving: 0, foreign: 0 },
      };
      put(pause, pause);
      return pause;
    },
    "pauses.end": ({ agent, server, tasks }) => {
      const waiting = inForce().find((pause) => pause.agent === (agent ?? null) && pause.server === (server ?? null));
      put({ agent: agent ?? null, server: server ?? null }, undefined);
      const asked = [...state.inbox.values()].filter(({ pause }) => pause !== undefined && pause.id === waiting?.id);
      for (const { id } of asked) state.inbox.delete(id);
      if (asked.length > 0) state.send({ goneInbox: asked.map(({ id }) => id) });
      const all = waiting?.calls.length ?? 0;
      const sent = tasks?.length ?? all;
      return { agent: agent ?? null, server: server ?? null, sent, leftOut: all - sent, stillWaiting: 0 };
    },
  };
}
