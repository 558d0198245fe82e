/* The title of an item: the server's first question or sentence, or our own text if it has none. */
import type { AlarmDto, BudgetDto, InboxRow, TaskDto } from "$lib/bindings";
import { capacityOf, windowFill } from "$lib/budget/window-fill";
import { singleLine, type IconName } from "$lib/design";
import { coarse, duration, elapsed, ms, usualRange } from "$lib/format/time";
import { shortTokens, size, tokens } from "$lib/format/tokens";
import { firstSentence } from "$lib/task/first-sentence";
import { answeredText } from "$lib/text/inbox/answered";
import { inboxText } from "$lib/text/inbox";
import { alarmText } from "$lib/text/inbox/alarm";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";
import { timeLimitText } from "$lib/text/inbox/time-limit";
import { pauseTitle } from "./pause/pause-title";

const words = inboxText.titleOf;

/** Whether its size is why it waits. A result that a person wants to see has a size too. */
export function isSized(row: InboxRow): boolean {
  return row.kind === "held" && row.why !== null && row.why !== "review";
}

/** Whether it is not known which of several calls asks: nothing may be concluded from the task that stores the question. */
export function isShared(row: InboxRow): boolean {
  return row.key !== null && (row.oneOf?.length ?? 0) > 0;
}

/** Whether its task keeps running past a limit, of tokens or of time, until a person decides. */
export function isPastLimit(row: InboxRow): boolean {
  return row.kind === "overLimit" || row.kind === "timeLimit";
}

/** Whether several calls were lost together: one cause, one item. */
export function isCause(row: InboxRow): boolean {
  return (row.callCount ?? 0) > 0;
}

/** Where an item comes from: its server, or the paused agent. */
export function sourceOf(row: InboxRow): string {
  return row.server === "" ? (row.agent ?? "") : row.server;
}

export function titleOf(row: InboxRow): string {
  if (isCause(row))
    return row.kind === "lost"
      ? answeredText.lost.gone(row.server, row.callCount ?? 0)
      : answeredText.lost.ended(row.server, row.callCount ?? 0);
  const tool = singleLine(row.tool ?? words.aTask, 80);
  switch (row.kind) {
    case "form":
      return (row.message === null ? "" : firstSentence(row.message)) || words.form(row.server);
    case "url":
      return words.url(row.host);
    case "unsupported":
      return words.unsupported(row.server);
    case "overdue":
      return words.overdue(tool);
    case "lost":
      return words.lost(tool, row.server);
    case "unconfirmed":
      return words.unconfirmed(tool);
    case "blocked":
      return words.blocked(row.server);
    case "held":
      return isSized(row) && row.tokens !== null
        ? words.sized(shortTokens(row.tokens, row.exactness ?? "atMost"))
        : words.held(tool);
    case "timeLimit":
      return row.runLimit === undefined
        ? timeLimitText.waits(tool)
        : timeLimitText.title[row.runLimit.kind](tool, duration(row.runLimit.allowedMs));
    case "alarm":
      return row.alarm === undefined ? alarmText.waits(tool) : alarmTitle(row.alarm);
    case "pauseChoice":
      return row.pause === undefined ? pauseChoiceText.waits(sourceOf(row)) : pauseTitle(row.pause);
    case "overLimit":
      return words.overLimit(tool, row.limit === null ? null : tokens(row.limit, "exact"));
    default:
      row.kind satisfies never;
      return row.server;
  }
}

function alarmTitle({ kind, agent, count, since, lastAt }: AlarmDto): string {
  return alarmText.title[kind](singleLine(agent, 60), count, duration(ms(lastAt) - ms(since)));
}

/** Whether the title is all that was said. */
export function isWholeTitle(said: string, row: InboxRow): boolean {
  const plain = (text: string) => text.trim().replace(/\.$/, "");
  return plain(singleLine(said, said.length)) === plain(titleOf(row));
}

/** With the numbers of the task, where they say more. */
export function fullTitleOf(row: InboxRow, task: TaskDto | null, now: number): string {
  if (row.kind !== "overdue" || task === null) return titleOf(row);
  const tool = singleLine(row.tool ?? words.aTask, 80);
  if (task.overdueWhy === "agreed") return words.agreed(tool);
  if (task.usual === null) return titleOf(row);
  return words.overdueBy(tool, coarse(elapsed(task, now)), usualRange(task.usual));
}

/** "200k, ≈ 81 % full": what the window of its agent may hold, and how much of that is taken. */
export function windowText(budget: BudgetDto): string {
  const { facts } = inboxText;
  const most = capacityOf(budget);
  if (most === null) return facts.sizeUnknown;
  const full = windowFill(budget);
  const of = most.isLimit ? facts.upTo(size(most.tokens)) : size(most.tokens);
  return full === null ? of : facts.full(of, full.shown);
}

export function iconOf(row: InboxRow): IconName {
  const { kind } = row;
  switch (kind) {
    case "form":
      return "form";
    case "url":
      return "link";
    case "unsupported":
      return "info";
    case "overdue":
      return "clock";
    case "lost":
      return "cross-dashed";
    case "unconfirmed":
      return "question";
    case "blocked":
      return "key";
    case "held":
      return isSized(row) ? "gauge" : "hand";
    case "timeLimit":
      return "clock";
    case "alarm":
      return "refresh";
    case "pauseChoice":
      return "pause";
    case "overLimit":
      return "gauge";
    default:
      kind satisfies never;
      return "info";
  }
}
