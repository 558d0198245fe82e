/* In which form an agent gets a result that is held because of its size: what a person chose and whether it can be sent.
   Pure. */
import type { HeldDto } from "$lib/bindings";
import { count } from "$lib/format/count";
import { readTokens } from "$lib/format/tokens";
import { resultHoldText } from "$lib/text/result-hold";
import type { Decision } from "./release";

export interface Delivery {
  readonly form: "slices" | "whole" | "trimmed";
  /** As typed, in any notation that `readTokens` accepts. */
  readonly trim: string;
}

/** To how many tokens a result is cut at most, until a person says so. Judgement: as much as a few pages. */
const TRIM_TOKENS = 8_000;

export function firstDelivery(held: HeldDto | null): Delivery {
  return { form: "slices", trim: firstTrim(held?.limit ?? held?.free ?? null) };
}

/** What stands in the field at first. `room`: what its limit or its window leaves, where that is known. */
export function firstTrim(room: number | null): string {
  return count(Math.max(1, Math.min(room ?? TRIM_TOKENS, TRIM_TOKENS)));
}

/** About how many slices it is read in; null where nothing says how large they are. The core cuts them with the error of an
    estimate on top. */
export function slicesOf(amount: number, slice: number | null, errorPercent: number): number | null {
  return slice === null || slice <= 0 ? null : Math.max(1, Math.ceil((amount * (100 + errorPercent)) / 100 / slice));
}

/** What must be corrected; null for nothing. */
export function trimProblem(typed: string): string | null {
  return readTokens(typed) === null ? resultHoldText.badTrim : null;
}

/** What is decided with it; null when it cannot be sent so. */
export function decisionOf(delivery: Delivery): Decision | null {
  if (delivery.form !== "trimmed") return { form: delivery.form };
  const tokens = readTokens(delivery.trim);
  return tokens === null ? null : { form: "trimmed", tokens };
}
