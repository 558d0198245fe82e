/* Which calls are shown and which one is open, and the address that keeps it:
   `#/audit/calls-4711?agent=order-bot&outcome=refused`. Pure. */
import type { ReceiptFilterDto } from "$lib/bindings";
import { rowNumber } from "../row-number";

/** In the place of a row in the address. */
export const CALLS = "calls";

/** The number of the open call, null for none; null as a whole where the address is not one of calls. */
export function callPlace(id: string | null): { readonly number: number | null } | null {
  if (id === CALLS) return { number: null };
  const number = id?.startsWith(`${CALLS}-`) ? rowNumber(id.slice(CALLS.length + 1)) : null;
  return number === null ? null : { number };
}

export const callsPlace = (number: number | null): string => (number === null ? CALLS : `${CALLS}-${number}`);

export const NO_CALL_FILTER: ReceiptFilterDto = {
  since: null,
  until: null,
  agent: null,
  server: null,
  tool: null,
  verdicts: [],
  outcomes: [],
  task: null,
};

/** As the core has them; it may have more, which are shown as they come. */
export const VERDICTS = [
  "allowed",
  "halted",
  "noAccess",
  "overLimit",
  "unknownTool",
  "invalid",
  "notRecorded",
] as const;
export const OUTCOMES = [
  "result",
  "toolError",
  "error",
  "question",
  "task",
  "cancelled",
  "lost",
  "notSent",
  "refused",
] as const;

const WORDS = ["since", "until", "agent", "server", "tool", "task"] as const;
/** Nothing that a receipt has is longer. */
const VALUE_CAP = 500;
const value = (text: string) => text.trim().slice(0, VALUE_CAP);

export function readCallFilter(search: string): ReceiptFilterDto {
  const given = new URLSearchParams(search);
  const all = (name: string) => [...new Set(given.getAll(name).map(value).filter(Boolean))];
  const filter: ReceiptFilterDto = { ...NO_CALL_FILTER, verdicts: all("verdict"), outcomes: all("outcome") };
  for (const name of WORDS) filter[name] = value(given.get(name) ?? "") || null;
  return filter;
}

export function writeCallFilter(filter: ReceiptFilterDto): string {
  const address = new URLSearchParams();
  for (const name of WORDS) if (filter[name] !== null) address.set(name, filter[name]);
  for (const word of filter.verdicts) address.append("verdict", word);
  for (const word of filter.outcomes) address.append("outcome", word);
  return address.toString();
}

export const isFiltered = (filter: ReceiptFilterDto): boolean => writeCallFilter(filter) !== "";
