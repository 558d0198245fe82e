/* Whether an agent has used the token that it has now. Pure. */
import type { AgentFacts } from "$lib/bindings";
import { ms } from "$lib/format/time";

/** When the agent was last seen, if that was after `made`; null otherwise, or when that is not known. */
export function usedSince(agent: AgentFacts, made: string | undefined): string | null {
  if (agent.seenAt === null || !made) return agent.seenAt;
  return ms(agent.seenAt) > ms(made) ? agent.seenAt : null;
}
