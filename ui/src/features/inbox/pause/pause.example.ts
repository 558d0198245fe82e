/* Made-up pauses that ask which of the waiting calls are sent. */
import type { PauseDto, WaitingCallDto } from "$lib/bindings";
import { aPause } from "$lib/pause/pause.example";
import { before, item, type Item } from "../inbox.example";

/** As the core has it: `policy.control.pauses.calls_shown`. */
const SHOWN = 20;
const CALLS = [
  ["warehouse", "backfill_orders"],
  ["docs", "publish_page"],
  ["github", "open_pull_request"],
] as const;

interface Given {
  readonly waiting: number;
  readonly agent?: string | null;
  readonly server?: string | null;
  readonly tool?: string;
  readonly caller?: string;
  readonly more?: Partial<PauseDto>;
}

export interface AskingPause {
  readonly item: Item;
  readonly pause: PauseDto;
}

export function asking({ waiting, agent = null, server = null, tool, caller = "order-bot", more }: Given): AskingPause {
  const calls = Array.from({ length: waiting }, (_, at): WaitingCallDto => {
    const [where, what] = CALLS[at % CALLS.length] ?? CALLS[0];
    return {
      id: `hdl_wait${at}`,
      server: server ?? where,
      tool: tool ?? what,
      agent: agent ?? caller,
      since: before(41 - (30 * at) / waiting),
    };
  });
  const pause = aPause({ agent, server, since: before(42), reason: "wrong month", waiting, mustChoose: true, ...more });
  const made = item({ at: 26, kind: "pauseChoice", agent, row: { task: null, tool: null, openedAt: before(27) } });
  const row = {
    ...made.row,
    id: `${pause.id}/pauseChoice`,
    server: server ?? "",
    agent,
    pause: { ...pause, calls: calls.slice(0, SHOWN) },
  };
  return { item: { ...made, row }, pause: { ...pause, calls } };
}
