/* An agent's state in one line, and the order of agents in the list. Pure; times come as values. */
import type { AgentFacts } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { ago } from "$lib/format/time";
import { textMatcher } from "$lib/text-match";
import { agentsText as text } from "$lib/text/agents";

export interface AgentStatus {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
  readonly small: string;
}

export function agentStatus(agent: AgentFacts, now: number): AgentStatus {
  if (agent.revokedAt !== null)
    return {
      tone: "neutral",
      icon: "lock",
      word: text.state.revoked,
      small: text.state.since(ago(agent.revokedAt, now)),
    };
  const small = agent.seenAt === null ? text.neverSeen : text.state.last(ago(agent.seenAt, now));
  return agent.connected
    ? { tone: "success", icon: "check", word: text.state.connected, small }
    : { tone: "neutral", icon: "bar", word: text.state.away, small };
}

/** What needs somebody first, then the connected, then the others by name; the revoked last. */
export function sortedByNeed(agents: Iterable<AgentFacts>): readonly AgentFacts[] {
  const rank = (agent: AgentFacts) =>
    agent.revokedAt !== null ? 3 : agent.figures.needsYou > 0 ? 0 : agent.connected ? 1 : 2;
  return [...agents].sort(
    (a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1),
  );
}

/** By name or program; nothing typed means all. */
export function matching(agents: readonly AgentFacts[], typed: string): readonly AgentFacts[] {
  const matches = textMatcher(typed);
  return agents.filter((agent) => matches(`${agent.name} ${agent.client ?? ""}`));
}

/** How far a new agent has come. */
export function firstCall(agent: AgentFacts): "nothing" | "connected" | "called" {
  return agent.calls > 0 ? "called" : agent.connected || agent.seenAt !== null ? "connected" : "nothing";
}

/** What is wrong with a name for a new agent; null for nothing. The core has the last word. */
export function nameProblem(name: string, agents: readonly AgentFacts[]): string | null {
  if (name === "") return text.form.problems.missing;
  if (!/^[a-z0-9_-][a-z0-9._-]{0,39}$/.test(name)) return text.form.problems.letters;
  return agents.some((agent) => agent.name === name && agent.revokedAt === null) ? text.form.problems.taken : null;
}
