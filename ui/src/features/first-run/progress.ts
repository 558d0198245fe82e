/* The three steps of the first run, as far as the core tells: a task was seen, an agent connected, a server of one's own
   is there. Pure. */
import type { AgentFacts, ServerDto, Totals } from "$lib/bindings";
import { DEMO_NAME } from "./demo";

export interface Progress {
  readonly task: boolean;
  readonly agent: boolean;
  readonly server: boolean;
}

/** Every task that is kept, hidden ones as well. */
export const keptTasks = (totals: Totals | null): number =>
  totals === null ? 0 : totals.figures.all + totals.figures.hidden;

export function progressOf(
  tasks: number,
  agents: Iterable<Pick<AgentFacts, "seenAt">>,
  servers: Iterable<Pick<ServerDto, "name">>,
): Progress {
  return {
    task: tasks > 0,
    agent: [...agents].some((agent) => agent.seenAt !== null),
    server: [...servers].some((server) => server.name !== DEMO_NAME),
  };
}

export const STEPS = 3;
export const doneOf = (progress: Progress): number =>
  [progress.task, progress.agent, progress.server].filter(Boolean).length;
