/* Names for agents: what a person types becomes a name that the core takes. Pure. */
import type { AgentFacts } from "$lib/bindings";
import { agentsText } from "$lib/text/agents";

/** As many as the core takes. */
export const NAME_MAX = 40;

/** "Claude Code" becomes `claude-code`, also while it is typed: a dash at the end stays, more may follow. */
export function slugged(typed: string): string {
  const plain = typed.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/-{2,}/g, "-")
    .replace(/^[.-]+/, "")
    .slice(0, NAME_MAX);
}

/** The name as it is sent: without the dash that was left for what may follow. */
export const finished = (typed: string): string => slugged(typed).replace(/-+$/, "");

/** What is wrong with a name for a new agent; null for nothing. The core has the last word. */
export function nameProblem(name: string, agents: readonly AgentFacts[]): string | null {
  const { problems } = agentsText.form;
  if (name === "") return problems.missing;
  if (!/^[a-z0-9_-][a-z0-9._-]{0,39}$/.test(name)) return problems.letters;
  return agents.some((agent) => agent.name === name && agent.revokedAt === null) ? problems.taken : null;
}
