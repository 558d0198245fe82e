/* Of two tellings of the same task, the newer one. A page and the feed may overtake each other. */
import type { TaskRow } from "$lib/bindings";

export function newer(one: TaskRow | undefined, other: TaskRow | undefined): TaskRow | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  if (one.changedAt !== other.changedAt) return one.changedAt > other.changedAt ? one : other;
  return one.lastSeenAt > other.lastSeenAt ? one : other;
}
