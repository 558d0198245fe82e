/* Main-thread time for each frame of the screen, from the browser's own trace: every task of the page's main thread
   (script, style, layout, paint), by the processor's time, summed in windows of a frame at 60 a second. */
const FRAME_US = 1_000_000 / 60;

export function frames(events) {
  const begin = events.find((event) => stamp(event) === "bench-begin");
  const end = events.findLast((event) => stamp(event) === "bench-end");
  if (!begin || !end) throw new Error("the trace has no beginning or no end");
  const count = Math.max(1, Math.floor((end.ts - begin.ts) / FRAME_US));
  const sums = new Array(count).fill(0);
  for (const event of events) {
    // The mark was set by the page's main thread: its tasks are the ones that count.
    if (event.name !== "RunTask" || event.ph !== "X" || event.pid !== begin.pid || event.tid !== begin.tid) continue;
    const at = Math.floor((event.ts - begin.ts) / FRAME_US);
    // Time of the processor where the trace has it: other programs of the machine do not count.
    if (at >= 0 && at < count) sums[at] += (event.tdur ?? event.dur ?? 0) / 1_000;
  }
  return sums;
}

function stamp(event) {
  return event.name === "TimeStamp" ? event.args?.data?.message : undefined;
}

export function percentile(values, part) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
