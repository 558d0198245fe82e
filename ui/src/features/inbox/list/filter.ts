/* Finding items in the inbox: by words and by kind. Pure. */
import type { InboxRow } from "$lib/bindings";
import { textMatcher } from "$lib/text-match";
import { titleOf } from "../item-title";

export type Kinds = "all" | "questions" | "results" | "problems";

export interface InboxFilter {
  readonly text: string;
  readonly kinds: Kinds;
}

export const NO_FILTER: InboxFilter = { text: "", kinds: "all" };

const OF_KIND: Readonly<Record<InboxRow["kind"], Kinds>> = {
  form: "questions",
  url: "questions",
  unsupported: "questions",
  held: "results",
  overLimit: "problems",
  timeLimit: "problems",
  overdue: "problems",
  lost: "problems",
  unconfirmed: "problems",
  blocked: "problems",
  alarm: "problems",
  pauseChoice: "questions",
};

export function isFiltered(filter: InboxFilter): boolean {
  return filter.kinds !== "all" || filter.text.trim() !== "";
}

export function filtered(rows: readonly InboxRow[], filter: InboxFilter): readonly InboxRow[] {
  if (!isFiltered(filter)) return rows;
  const fits = textMatcher(filter.text);
  return rows.filter((row) => (filter.kinds === "all" || OF_KIND[row.kind] === filter.kinds) && fits(wordsOf(row)));
}

/** What an item is found by: what is on the screen of it, and its handle. */
function wordsOf(row: InboxRow): string {
  const calls = [...(row.calls ?? []), ...(row.pause?.calls ?? [])].flatMap((call) => [call.tool, call.agent]);
  return [titleOf(row), row.message, row.server, row.tool, row.agent, row.host, row.task, ...calls]
    .filter(Boolean)
    .join(" ");
}
