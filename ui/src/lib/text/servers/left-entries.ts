/* Said after an agent was revoked or a server removed: files of programs still lead there. */
import type { LeftEntries } from "$lib/bindings";

/** A sentence to go on with; empty when no file does. */
export function leftEntries(left: readonly LeftEntries[]): string {
  const programs = [...new Set(left.map(({ client }) => client))].join(", ");
  return programs === "" ? "" : `. Files of ${programs} still lead to it: undo their routing under Servers, Import.`;
}
