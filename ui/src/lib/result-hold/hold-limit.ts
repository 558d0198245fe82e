/* Which limit holds a result, and by how much it is over: from the rules as they are now. A limit that was changed since is
   told by its number alone. Pure. */
import type { ExactnessDto, HeldDto, LimitDto, RuleDto, ScopeDto } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { roughly, tokens } from "$lib/format/tokens";
import { resultHoldText } from "$lib/text/result-hold";

export interface HeldResult {
  readonly held: HeldDto;
  /** How exact its size is. */
  readonly exactness: ExactnessDto;
  readonly agent: string;
  readonly server: string;
  readonly tool: string | null;
  /** The limit of the window of its agent now. */
  readonly window: LimitDto | null;
}

const NAME_CAP = 60;
/** From narrow to wide: the first that says something counts, as at the core. */
const NARROW = ["tool", "server", "agent"] as const;

/** Of whose rule it is; null when no rule says so any more. */
export function limitScope(
  { held, agent, server, tool }: HeldResult,
  rules: readonly RuleDto[],
): ScopeDto["kind"] | null {
  const isOf = (scope: ScopeDto): boolean => {
    switch (scope.kind) {
      case "tool":
        return scope.server === server && scope.tool === tool;
      case "server":
        return scope.server === server;
      case "agent":
        return scope.agent === agent;
      default:
        return scope satisfies never;
    }
  };
  const mine = rules.filter((rule) => rule.resultLimit != null && isOf(rule.scope));
  const rule = NARROW.map((kind) => mine.find((one) => one.scope.kind === kind)).find((one) => one !== undefined);
  // A limit that only tells people holds nothing: it was another one.
  return rule?.resultLimit?.tokens === held.limit && rule.resultLimit.at !== "warn" ? rule.scope.kind : null;
}

/** "One result of the tool index_folder may have 20,000 tokens: it has ≈ 41k too many." Null where no size holds it. */
export function limitMessage(result: HeldResult, rules: readonly RuleDto[]): string | null {
  const { held, exactness } = result;
  const words = resultHoldText.limit;
  const over = (limit: string, room: number) =>
    words.over(limit, tokens(Math.max(0, (held.tokens ?? 0) - room), exactness));
  const agent = singleLine(result.agent, NAME_CAP);
  if (held.tokens === null) return null;
  if (held.why === "wouldBeCut" && held.limit !== null)
    return words.cut(singleLine(held.program ?? "", NAME_CAP), tokens(held.limit, "exact"));
  if (held.limit !== null) {
    const limit = tokens(held.limit, "exact");
    const scope = limitScope(result, rules);
    if (scope === null) return over(words.gone(limit), held.limit);
    const names = { tool: singleLine(result.tool ?? "", NAME_CAP), server: singleLine(result.server, NAME_CAP), agent };
    return over(words[scope](names[scope], limit), held.limit);
  }
  if (held.free === null) return null;
  const free = tokens(held.free, roughly(exactness));
  const { window } = result;
  return over(
    window === null || window.at === "warn"
      ? words.windowGone(agent, free)
      : words.window(agent, tokens(window.tokens, "exact"), free),
    held.free,
  );
}
