/* A decision about a held result: the input for the core and the message for the person. */
import type { ReleaseTask } from "$lib/bindings";
import { resultHoldText } from "$lib/text/result-hold";

/** `asItCame`: a person wanted to see it, and its size is no matter. */
export type Decision =
  | { readonly form: "asItCame" | "whole" | "slices" }
  | { readonly form: "trimmed"; readonly tokens: number }
  | { readonly form: "withheld"; readonly reason: string };

export function releaseInput(id: string, decision: Decision): ReleaseTask {
  switch (decision.form) {
    case "asItCame":
      return { id, deliver: true };
    case "whole":
    case "slices":
      return { id, deliver: true, form: decision.form };
    case "trimmed":
      return { id, deliver: true, form: "trimmed", trimTokens: decision.tokens };
    case "withheld":
      return { id, deliver: false, reason: decision.reason.trim() === "" ? null : decision.reason.trim() };
    default:
      return decision satisfies never;
  }
}

export function releasedMessage(decision: Decision, agent: string): string {
  const { done } = resultHoldText;
  return decision.form === "trimmed" ? done.trimmed(agent, decision.tokens) : done[decision.form](agent);
}
