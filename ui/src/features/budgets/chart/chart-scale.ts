/* Where the bars of the chart stand and how long they are. Pure; the round numbers of the axis come from d3-array. */
import { nice, ticks } from "d3-array";

/** Between two bars, as a share of the room for one; the ends get half of it. */
const GAP = 0.28;

export interface Bands {
  /** From the beginning of one bar to the next. */
  readonly step: number;
  /** How wide a bar is. */
  readonly width: number;
  /** Where a bar begins. */
  at(index: number): number;
}

/** The places of `count` bars between two edges. */
export function bands(count: number, start: number, end: number): Bands {
  const step = (end - start) / Math.max(1, count);
  return { step, width: step * (1 - GAP), at: (index) => start + step * (index + GAP / 2) };
}

export interface Axis {
  /** Round values of the axis, whole numbers only. */
  readonly ticks: readonly number[];
  /** Where a value stands. */
  at(value: number): number;
}

/** An axis that begins and ends with round values; `bottom` is the place of the least, `top` that of the most. */
export function axisOf(least: number, most: number, bottom: number, top: number, count: number): Axis {
  const [low, high] = nice(least, most, count);
  return {
    ticks: ticks(low, high, count).filter((tick) => Number.isInteger(tick)),
    at: (value) => bottom + ((value - low) / (high - low)) * (top - bottom),
  };
}
