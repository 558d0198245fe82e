/* The keys of the inbox (peers 4.2). A bare letter never finishes something destructive: `c` opens a popover, `d` can be
   taken back for five seconds. */
import type { InboxRow } from "$lib/bindings";
import type { Binding } from "$lib/keys";
import { resultHoldText } from "$lib/text/result-hold";
import { answeredText } from "$lib/text/inbox/answered";
import { inboxText } from "$lib/text/inbox";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";
import { isPastLimit, isShared } from "./item-title";

export interface InboxKeys {
  readonly row: InboxRow | null;
  /** A popover or a menu is open: keys are its own then. */
  readonly isCovered: boolean;
  readonly mayAnswer: boolean;
  /** A result is held because of its size: its form is chosen. */
  readonly sized: boolean;
  readonly off: boolean;
  readonly arrived: boolean;
  readonly move: (by: number) => void;
  readonly to: (at: number) => void;
  readonly next: () => void;
  readonly primary: (row: InboxRow) => void;
  readonly back: () => void;
  readonly send: () => void;
  /** Answers a question that asks only yes or no; null for every other item. */
  readonly say: ((says: boolean) => void) | null;
  readonly decline: (row: InboxRow) => void;
  readonly snooze: (row: InboxRow) => void;
  readonly snoozeMenu: () => void;
  readonly find: () => void;
  /** Selects the open item, or takes it out of the selection. */
  readonly pick: (row: InboxRow) => void;
  readonly pickAll: () => void;
  readonly selected: boolean;
  readonly stop: () => void;
  readonly menu: () => void;
  readonly copy: (row: InboxRow) => void;
  readonly settle: () => void;
}

export function inboxKeys(can: InboxKeys): readonly Binding[] {
  const { group, ...words } = inboxText.keys;
  const { row } = can;
  if (can.isCovered) return [];
  const bindings: Binding[] = [
    { key: ["j", "ArrowDown"], label: words.down, group, move: true, run: () => can.move(1) },
    { key: ["k", "ArrowUp"], label: words.up, group, move: true, run: () => can.move(-1) },
    { key: ["g g", "Home"], label: words.top, group, move: true, run: () => can.to(0) },
    { key: ["Shift+G", "End"], label: words.end, group, move: true, run: () => can.to(Number.MAX_SAFE_INTEGER) },
    { key: "Escape", label: words.back, group, move: true, run: can.back },
    { key: "p", label: words.arrivals, group, run: can.settle, when: () => can.arrived },
    { key: "/", label: answeredText.filter.open, group, run: can.find },
    { key: "$mod+a", label: words.pickAll, group, move: true, run: can.pickAll },
  ];
  if (row === null) return bindings;
  bindings.push({ key: "x", label: words.pick, group, run: () => can.pick(row) });
  if (can.selected) return bindings;
  const isQuestion = row.kind === "form" || row.kind === "url" || row.kind === "unsupported";
  const isHeld = row.kind === "held";
  const isPause = row.kind === "pauseChoice";
  const { sized } = can;
  const { say } = can;
  return [
    ...bindings,
    ...(say === null
      ? [
          { key: "n", label: words.next, group, run: can.next },
          {
            key: "y",
            label: inboxText.act.copyHandle,
            group,
            run: () => can.copy(row),
            when: () => row.task !== null && !isShared(row),
          },
        ]
      : [
          { key: "y", label: inboxText.act.yes, group, run: () => say(true) },
          { key: "n", label: inboxText.act.no, group, run: () => say(false) },
        ]),
    {
      key: row.kind === "form" || sized ? ["Enter", "r"] : "Enter",
      label: isPause ? pauseChoiceText.choose : row.kind === "form" || sized ? words.answer : words.primary,
      group,
      run: () => can.primary(row),
    },
    {
      key: "$mod+Enter",
      label: row.pause
        ? pauseChoiceText.sendAll(row.pause.waiting)
        : sized
          ? resultHoldText.deliver
          : inboxText.act.send,
      group,
      run: can.send,
      when: () => (row.kind === "form" && can.mayAnswer && say === null) || ((sized || isPause) && !can.off),
    },
    {
      key: "d",
      label: row.pause
        ? pauseChoiceText.cancelAll(row.pause.waiting)
        : isHeld
          ? resultHoldText.withhold
          : inboxText.act.decline,
      group,
      run: () => can.decline(row),
      when: () => (isQuestion && can.mayAnswer) || ((isHeld || isPause) && !can.off),
    },
    { key: "z", label: inboxText.act.notNow, group, run: () => can.snooze(row), when: () => !can.off },
    { key: "Shift+Z", label: answeredText.snooze.menu, group, move: true, run: can.snoozeMenu, when: () => !can.off },
    {
      key: "c",
      label: isShared(row) ? inboxText.shared.choose : inboxText.cancel.ask,
      group,
      run: can.stop,
      when: () =>
        !can.off && (isShared(row) || row.kind === "overdue" || isPastLimit(row) || row.kind === "unsupported"),
    },
    { key: ".", label: inboxText.act.more, group, move: true, run: can.menu },
  ];
}
