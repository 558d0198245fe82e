/* What was decided about a held result, as people read it: whether its agent gets it, and in which form. Pure. */
import type { VerdictDto } from "$lib/bindings";
import { tokens } from "$lib/format/tokens";
import { TASK } from "$lib/text/task";

interface Decided {
  readonly agent: string;
  readonly who: string;
  readonly when: string;
}

export function verdictText(verdict: VerdictDto, { agent, who, when }: Decided): string {
  const words = TASK.hold;
  if (verdict.byLimit) return words.byLimit(agent);
  if (!verdict.delivered) return words.withheld(agent, who, when);
  const { form } = verdict;
  switch (form) {
    case null:
    case "whole":
      return words.whole(agent, who, when);
    case "slices":
      return words.sliced(agent, who, when);
    case "trimmed":
      return words.trimmed(agent, who, when, verdict.trimTokens === null ? null : tokens(verdict.trimTokens, "exact"));
    default:
      form satisfies never;
      return words.whole(agent, who, when);
  }
}
