/* What a halt would cover, counted from the feed as it is now. Pure. */
import type { AgentFacts, InboxRow, ServerDto } from "$lib/bindings";

export interface Subjects {
  /** Null: everything. */
  readonly chosen: { readonly servers: ReadonlySet<string>; readonly agents: ReadonlySet<string> } | null;
}
export interface Covered {
  readonly open: number;
  /** A task may be of a chosen server and of a chosen agent: then `open` is an upper bound. */
  readonly isBound: boolean;
  readonly questions: number;
  /** Connected agents whose calls may be refused. */
  readonly agents: number;
}

const QUESTIONS: ReadonlySet<InboxRow["kind"]> = new Set(["form", "url", "unsupported"]);

export function covered(
  { chosen }: Subjects,
  servers: readonly ServerDto[],
  agents: readonly AgentFacts[],
  inbox: Iterable<InboxRow>,
  openTasks: number,
): Covered {
  const connected = agents.filter((agent) => agent.connected);
  const asked = [...inbox].filter((row) => row.answeredBy === null && QUESTIONS.has(row.kind));
  const sum = (rows: readonly InboxRow[]) => rows.reduce((n, row) => n + 1 + (row.moreQuestions ?? 0), 0);
  if (chosen === null) return { open: openTasks, isBound: false, questions: sum(asked), agents: connected.length };
  const of = <T extends { name: string; figures: { open: number } }>(all: readonly T[], names: ReadonlySet<string>) =>
    all.reduce((n, one) => n + (names.has(one.name) ? one.figures.open : 0), 0);
  const here = asked.filter((row) => chosen.servers.has(row.server) || chosen.agents.has(row.agent ?? ""));
  return {
    open: of(servers, chosen.servers) + of(agents, chosen.agents),
    isBound: chosen.servers.size > 0 && chosen.agents.size > 0,
    questions: sum(here),
    // Whoever calls a chosen server is refused there, and nobody knows who will.
    agents: chosen.servers.size > 0 ? connected.length : connected.filter(({ name }) => chosen.agents.has(name)).length,
  };
}
