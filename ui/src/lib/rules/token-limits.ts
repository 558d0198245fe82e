/* The limits of tokens in a rule's form: what was typed, what may happen at each, what is wrong with it. Pure. */
import type { AtLimitDto, LimitDto, RuleDto } from "$lib/bindings";
import { count } from "$lib/format/count";
import { readTokens } from "$lib/format/tokens";

export type Limited = "result" | "task" | "window";

export interface LimitDraft {
  /** As typed; empty for no limit. */
  readonly typed: string;
  readonly at: AtLimitDto;
}
export type LimitDrafts = Readonly<Record<Limited, LimitDraft>>;

/** What may happen at each, as the core allows it; the first is what a new limit does. */
export const AT: Readonly<Record<Limited, readonly AtLimitDto[]>> = {
  result: ["hold", "ask", "warn"],
  task: ["ask", "stop", "warn"],
  window: ["ask", "hold", "warn"],
};

/** What a scope can limit: a window belongs to an agent and to nothing else. */
export const limitedBy = (kind: RuleDto["scope"]["kind"]): readonly Limited[] =>
  kind === "agent" ? ["result", "task", "window"] : ["result", "task"];

export function limitsOf(rule: RuleDto | null): LimitDrafts {
  return {
    result: draft("result", rule?.resultLimit),
    task: draft("task", rule?.taskLimit),
    window: draft("window", rule?.windowLimit),
  };
}

function draft(what: Limited, limit: LimitDto | null | undefined): LimitDraft {
  return limit == null ? { typed: "", at: AT[what][0] ?? "warn" } : { typed: count(limit.tokens), at: limit.at };
}

export const isBad = (one: LimitDraft): boolean => one.typed.trim() !== "" && readTokens(one.typed) === null;

/** Null for no limit; call it only where nothing is wrong. */
export function limitOf(one: LimitDraft): LimitDto | null {
  const tokens = readTokens(one.typed);
  return tokens === null ? null : { tokens, at: one.at };
}

export function hasLimit(rule: RuleDto): boolean {
  return rule.resultLimit != null || rule.taskLimit != null || rule.windowLimit != null || rule.holdCut != null;
}
