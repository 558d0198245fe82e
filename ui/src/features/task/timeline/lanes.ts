/* The timeline's geometry: one axis of time, a lane for each actor, in percent of the whole. Time the task spent
   waiting for a person is a dashed span, never drawn as its own (design, must not change 7). Pure. */
import type { HistoryEvent, TaskDto } from "$lib/bindings";
import { day, hourMinute, hourMinuteSecond, ms } from "$lib/format/time";
import type { TimelineEvent } from "./events";

export interface Span {
  readonly from: number;
  readonly to: number;
  readonly kind: "working" | "asked";
}
export interface Pin {
  readonly at: number;
  readonly happening: TimelineEvent;
}
export type LaneName = HistoryEvent["lane"];
/** The order of the lanes never changes; one without events is left out. */
const LANES: readonly LaneName[] = ["agent", "server", "person", "policy"];

export interface Lanes {
  /** Those who took part, in their order. */
  readonly shown: readonly LaneName[];
  /** Those who did not. */
  readonly absent: readonly LaneName[];
  /** Over so soon that a picture would say nothing. */
  readonly isShort: boolean;
  readonly axis: readonly { at: number; text: string }[];
  readonly spans: readonly Span[];
  readonly ticks: readonly number[];
  readonly pins: Readonly<Record<HistoryEvent["lane"], readonly Pin[]>>;
}

/** Pins closer than this lie on each other; the newer one is drawn (percent of the axis; the list names all). */
const PIN_APART = 3;
/** Below this the list alone says what happened (window.md, "Task drawer"). */
const SHORT_MS = 5_000;
const TICK_APART = 0.7;
const MINUTE = 60_000;

export function lanes(task: TaskDto, list: readonly TimelineEvent[], looks: readonly string[], now: number): Lanes {
  const start = Math.min(ms(task.createdAt), ...list.map((one) => ms(one.at)));
  const end = Math.max(start + 1_000, task.endedAt === null ? now : ms(task.endedAt), ...list.map((one) => ms(one.at)));
  const at = (moment: string | number) => Math.min(100, Math.max(0, (100 * (ms(moment) - start)) / (end - start)));
  const pins = (lane: HistoryEvent["lane"]) =>
    apart(list.filter((one) => one.lane === lane).map((happening) => ({ at: at(happening.at), happening })));
  const drawn = { agent: pins("agent"), server: pins("server"), person: pins("person"), policy: pins("policy") };
  // The task itself runs on its server, whether that said anything or not.
  const took = (lane: LaneName) => lane === "server" || drawn[lane].length > 0;
  return {
    shown: LANES.filter(took),
    absent: LANES.filter((lane) => !took(lane)),
    isShort: end - start < SHORT_MS && task.endedAt !== null,
    axis: axis(start, end),
    spans: spans(task, at, now),
    ticks: sparse(looks.map(at)),
    pins: drawn,
  };
}

function axis(start: number, end: number): { at: number; text: string }[] {
  const write =
    end - start < 4 * MINUTE
      ? hourMinuteSecond
      : end - start < 24 * 60 * MINUTE
        ? hourMinute
        : (moment: number) => day(moment, end).split(",")[0] ?? "";
  return [0, 33, 66, 100].map((at) => ({ at, text: write(start + ((end - start) * at) / 100) }));
}

/** Working but where a question was open. Questions that overlap are one wait. */
function spans(task: TaskDto, at: (moment: string | number) => number, now: number): Span[] {
  const end = task.endedAt === null ? now : ms(task.endedAt);
  const waits = task.requests
    .map((request) => ({
      from: ms(request.openedAt),
      to: request.answer !== null ? ms(request.answer.at) : request.state === "open" ? end : ms(request.openedAt),
    }))
    .filter((wait) => wait.to > wait.from)
    .sort((one, other) => one.from - other.from);
  const list: Span[] = [];
  let from = ms(task.createdAt);
  for (const wait of waits) {
    if (wait.to <= from) continue;
    const begins = Math.max(from, wait.from);
    if (begins > from) list.push({ from: at(from), to: at(begins), kind: "working" });
    list.push({ from: at(begins), to: at(wait.to), kind: "asked" });
    from = wait.to;
  }
  if (end > from) list.push({ from: at(from), to: at(end), kind: "working" });
  return list;
}

/** Of pins that would lie on each other the newest; the list comes oldest first. */
function apart(pins: readonly Pin[]): Pin[] {
  const kept: Pin[] = [];
  for (const pin of [...pins].reverse())
    if (kept.every((one) => Math.abs(one.at - pin.at) >= PIN_APART)) kept.push(pin);
  return kept;
}

function sparse(places: readonly number[]): number[] {
  const kept: number[] = [];
  for (const place of [...places].sort((one, other) => one - other))
    if (place - (kept[kept.length - 1] ?? -100) >= TICK_APART) kept.push(place);
  return kept;
}
