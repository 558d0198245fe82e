/* In which form an agent gets a result that is held because of its size: what a person chose and whether it can be sent.
   Pure. */
import type { HeldDto, ReleaseTask } from "$lib/bindings";
import { count } from "$lib/model/bytes";
import { readTokens } from "$lib/model/tokens";
import { inboxText } from "$lib/text/inbox";

export interface Delivery {
  readonly form: "slices" | "whole" | "trimmed";
  /** As typed. */
  readonly trim: string;
}

/** Tokens of one slice, as the core cuts them (`counting.slice_tokens`). */
export const SLICE_TOKENS = 8_000;
const LINES = 12;
const LINE_CAP = 400;

export function firstDelivery(held: HeldDto | null): Delivery {
  const room = held?.limit ?? held?.free ?? SLICE_TOKENS;
  return { form: "slices", trim: count(Math.max(1, Math.min(room, SLICE_TOKENS))) };
}

/** What must be corrected; null for nothing. */
export function deliveryProblem(delivery: Delivery): string | null {
  return delivery.form === "trimmed" && readTokens(delivery.trim) === null ? inboxText.sized.badTrim : null;
}

/** What the core is told; null when it cannot be sent so. */
export function releaseForm(delivery: Delivery): Pick<ReleaseTask, "form" | "trimTokens"> | null {
  if (delivery.form !== "trimmed") return { form: delivery.form };
  const trimTokens = readTokens(delivery.trim);
  return trimTokens === null ? null : { form: "trimmed", trimTokens };
}

export function firstLines(text: string): string {
  const lines = text.slice(0, LINES * LINE_CAP).split(/\r?\n/);
  const shown = lines.slice(0, LINES).map((one) => (one.length > LINE_CAP ? `${one.slice(0, LINE_CAP)}…` : one));
  return lines.length > LINES || text.length > LINES * LINE_CAP ? [...shown, "…"].join("\n") : shown.join("\n");
}
