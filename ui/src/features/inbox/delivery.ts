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

/** To how many tokens a result is cut at most, until a person says so. Judgement: as much as a few pages. */
const TRIM_TOKENS = 8_000;
const LINES = 12;
const LINE_CAP = 400;

export function firstDelivery(held: HeldDto | null): Delivery {
  const room = held?.limit ?? held?.free ?? TRIM_TOKENS;
  return { form: "slices", trim: count(Math.max(1, Math.min(room, TRIM_TOKENS))) };
}

/** About how many slices it is read in; null where nothing says how large they are. The core cuts them with the error of an
    estimate on top. */
export function slicesOf(amount: number, slice: number | null, errorPercent: number): number | null {
  return slice === null || slice <= 0 ? null : Math.max(1, Math.ceil((amount * (100 + errorPercent)) / 100 / slice));
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
