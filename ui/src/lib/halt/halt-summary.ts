/* A halt in one line, for the banner and the status bar. Pure. */
import type { HaltEffectDto, HaltShown } from "$lib/bindings";
import { plural } from "$lib/format/count";
import { controlToken } from "$lib/task/control-token";
import { APP } from "$lib/text/app";

export interface HaltSummary {
  /** When it began; null when the halts on record cannot be read. */
  readonly at: string | null;
  /** Who gave the newest order; null for the file. */
  readonly by: string | null;
  readonly reason: string;
  /** What is held back, as a sentence. */
  readonly effect: string;
}

const ORDER: readonly HaltEffectDto[] = ["calls", "running", "requests"];

/** Null while nothing is halted. */
export function haltSummary({ halt, unreadable }: HaltShown): HaltSummary | null {
  if (unreadable !== null) return { at: null, by: null, reason: "", effect: "" };
  const newest = halt?.orders.at(-1);
  if (!halt || !newest) return null;
  const text = APP.halt;
  const token = controlToken(newest.by);
  const inForce = ORDER.filter((effect) => halt.orders.some((order) => order.inForce.includes(effect)));
  const isEverything = halt.orders.some((one) => one.server === null && one.agent === null && one.inForce.length > 0);
  const words = inForce.map((effect) => text.covers[effect]).join(", ");
  const first = words.charAt(0).toUpperCase() + words.slice(1);
  const where = isEverything || inForce.length === 0 ? "" : ` ${text.inPlaces(plural(halt.orders.length, "place"))}`;
  const reads = halt.steps.some((step) => step.stage === "readOnly") ? ` ${text.readsPass}.` : "";
  return {
    at: halt.at,
    by: token === null ? newest.by : text.control(token),
    reason: newest.reason,
    effect: `${inForce.length === 0 ? text.nothingLeft : `${first}${where}`}.${reads}`,
  };
}
