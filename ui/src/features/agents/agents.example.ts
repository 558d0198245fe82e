/* An agent for tests and stories. Not part of the product. */
import type { AgentFacts } from "$lib/bindings";
import { NO_FIGURES } from "$lib/fake-core/query";

const SINCE = "2026-11-21T09:12:00.000Z";

export function anAgent(name: string, change: Partial<AgentFacts> = {}): AgentFacts {
  const isHere = change.connected !== false;
  return {
    id: `agt_${name}`,
    name,
    createdAt: "2026-11-20T09:00:00.000Z",
    revokedAt: null,
    seenAt: "2026-11-21T14:29:36.000Z",
    client: "claude-code 2.1.7",
    calls: 412,
    openTasks: 0,
    waiting: 0,
    taskTools: true,
    learnedTimeoutMs: null,
    connected: true,
    connectedSince: isHere ? SINCE : null,
    sessions: isHere ? [{ door: "command", program: null, since: SINCE, lastAt: "2026-11-21T14:29:36.000Z" }] : [],
    tokenMadeAt: "2026-11-20T09:00:00.000Z",
    figures: { ...NO_FIGURES, all: change.openTasks ?? 0, open: change.openTasks ?? 0, needsYou: change.waiting ?? 0 },
    ...change,
  };
}
