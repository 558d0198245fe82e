/* Servers in the order of need: what a person must do first, then what is broken, then the rest by name. */
import type { ServerDto } from "$lib/bindings";
import { standing } from "$lib/server/standing";
import { textMatcher } from "$lib/text-match";

const RANK = { blocked: 0, notAgreed: 1, down: 2, frozen: 3, ended: 4, unknown: 5, connecting: 6, up: 7 } as const;

export function sortedByNeed(servers: Iterable<ServerDto>): readonly ServerDto[] {
  return [...servers].sort(
    (a, b) => RANK[standing(a)] - RANK[standing(b)] || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0),
  );
}

/** By name, host or command; nothing typed means all. */
export function matching(servers: readonly ServerDto[], typed: string): readonly ServerDto[] {
  const matches = textMatcher(typed);
  return servers.filter((server) => matches(searchText(server)));
}

function searchText(server: ServerDto): string {
  const { address } = server;
  const where = address.kind === "http" ? address.url : [address.command, ...address.args].join(" ");
  return `${server.name} ${where} ${server.serverName ?? ""} ${server.health.kind}`;
}

export interface CancelBars {
  /** Filled bars: cancels that were obeyed. */
  readonly obeyed: number;
  readonly not: number;
}

/** Bars drawn at most; more asks keep the proportion, and one disobeyed cancel is never rounded away. */
export const BARS_MAX = 12;

export function cancelBars(cancels: ServerDto["cancels"]): CancelBars {
  // What is still open counts for neither side.
  const decided = Math.min(cancels.asked, cancels.stopped + cancels.finishedAnyway + cancels.refused);
  const not = Math.max(0, decided - cancels.stopped);
  if (decided <= BARS_MAX) return { obeyed: Math.min(cancels.stopped, decided), not };
  const shown = Math.round((cancels.stopped / decided) * BARS_MAX);
  const obeyed = Math.min(not > 0 ? BARS_MAX - 1 : BARS_MAX, Math.max(cancels.stopped > 0 ? 1 : 0, shown));
  return { obeyed, not: BARS_MAX - obeyed };
}
