/* THE table: phase to tone, word and icon. Exhaustive by type; no screen invents a seventh tone. */
import type { Phase, PhaseGroup } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";

export interface PhaseStyle {
  readonly tone: Tone;
  readonly word: string;
  readonly icon: IconName;
}

export const PHASES: Readonly<Record<Phase, PhaseStyle>> = {
  waiting: { tone: "attention", word: "Waiting for you", icon: "speech" },
  overdue: { tone: "attention", word: "Later than agreed", icon: "clock" },
  unconfirmed: { tone: "attention", word: "Not confirmed by the server", icon: "question" },
  blocked: { tone: "attention", word: "Server needs sign-in", icon: "key" },
  running: { tone: "running", word: "Working", icon: "ring" },
  answering: { tone: "running", word: "Sending answer", icon: "arrow-up" },
  cancelling: { tone: "neutral", word: "Cancellation asked", icon: "ring-bar" },
  done: { tone: "success", word: "Done", icon: "check" },
  doneWithError: { tone: "danger", word: "Finished with an error", icon: "check-broken" },
  failed: { tone: "danger", word: "Failed", icon: "cross" },
  cancelled: { tone: "neutral", word: "Cancelled", icon: "bar" },
  revoked: { tone: "neutral", word: "Access revoked", icon: "lock" },
  unwatched: { tone: "neutral", word: "Not watched", icon: "eye-bar" },
  silent: { tone: "stale", word: "No news", icon: "ring-dashed" },
  lost: { tone: "stale", word: "Lost by the server", icon: "cross-dashed" },
  expired: { tone: "stale", word: "Expired at the server", icon: "clock-dashed" },
};

/** In the order they stand in lists. */
export const GROUPS: readonly PhaseGroup[] = ["needsYou", "moving", "noNews", "finished"];

export const GROUP_WORDS: Readonly<Record<PhaseGroup, string>> = {
  needsYou: "Needs you",
  moving: "Moving",
  noNews: "No news",
  finished: "Finished",
};

/** In the order of the table; for filters. */
export const ALL_PHASES = Object.keys(PHASES) as readonly Phase[];
