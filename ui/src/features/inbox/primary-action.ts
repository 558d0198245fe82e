/* What Enter does with an item: the first thing that its footer offers, or the focus in its form. */
import type { InboxRow } from "$lib/bindings";
import { route } from "$lib/route.svelte";
import { ALLOWED_MORE_MS } from "$lib/text/inbox/time-limit";
import { KEEP_WAITING_MS, type InboxActions } from "./inbox-actions.svelte";
import { isSized } from "./item-title";
import { focusWaitingCalls } from "./pause/pause-choices.svelte";

interface Ways {
  readonly focus: () => void;
  readonly send: () => void;
  /** Of a link that may be opened. */
  readonly url: string | null;
  /** Its question can be answered. */
  readonly isOpen: boolean;
}

export function runPrimary(row: InboxRow, actions: InboxActions, ways: Ways): void {
  if (row.kind === "form" || isSized(row)) ways.focus();
  else if (row.kind === "pauseChoice") focusWaitingCalls();
  else if (row.kind === "overdue") void actions.snooze(row, KEEP_WAITING_MS);
  else if (row.kind === "lost") void actions.check(row);
  else if (row.kind === "overLimit") void actions.goOn(row);
  else if (row.kind === "timeLimit") void actions.allowTime(row, ALLOWED_MORE_MS);
  // Whether calls that wait are wanted is no matter for one key.
  else if (row.kind === "alarm" && row.alarm?.asks !== true) void actions.dismissAlarm(row);
  else if (row.kind === "held") ways.send();
  else if (row.kind === "blocked") route.go("servers", row.server);
  else if (row.kind === "url" && ways.isOpen) {
    if (actions.opened.has(row.id)) void actions.answer(row, "accept");
    else if (ways.url !== null) void actions.openLink(row, ways.url);
  }
}
