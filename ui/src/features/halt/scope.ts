/* What a halt would cover, counted from the feed as it is now. Pure. */
import type { AgentFacts, InboxRow, ServerDto, ToolOfServer } from "$lib/bindings";

export interface ChosenTool extends ToolOfServer {
  /** How many tasks of it are open; null while that is not known. */
  readonly open: number | null;
}
export interface Subjects {
  /** Null: everything. */
  readonly chosen: {
    readonly servers: ReadonlySet<string>;
    readonly agents: ReadonlySet<string>;
    readonly tools: readonly ChosenTool[];
  } | null;
}
export interface Covered {
  /** Null while the tasks of a chosen tool are not counted. */
  readonly open: number | null;
  /** A task may be of a chosen server, of a chosen agent and of a chosen tool: then `open` is an upper bound. */
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
  const here = asked.filter(
    (row) =>
      chosen.servers.has(row.server) ||
      chosen.agents.has(row.agent ?? "") ||
      chosen.tools.some((one) => one.server === row.server && one.tool === row.tool),
  );
  const ofTools = chosen.tools.reduce<number | null>(
    (n, { open }) => (n === null || open === null ? null : n + open),
    0,
  );
  const kinds = [chosen.servers.size, chosen.agents.size, chosen.tools.length].filter((n) => n > 0).length;
  const isAnyCaller = chosen.servers.size + chosen.tools.length > 0;
  return {
    open: ofTools === null ? null : of(servers, chosen.servers) + of(agents, chosen.agents) + ofTools,
    isBound: kinds > 1,
    questions: sum(here),
    // Whoever calls a chosen server or tool is refused there, and nobody knows who will.
    agents: isAnyCaller ? connected.length : connected.filter(({ name }) => chosen.agents.has(name)).length,
  };
}

export const isSameTool = (one: ToolOfServer, other: ToolOfServer): boolean =>
  one.server === other.server && one.tool === other.tool;
