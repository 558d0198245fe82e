/* The table of phases: tone, word and icon. Exhaustive by type; no screen adds another tone. */
import type { Phase, PhaseGroup } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { PHASE_WORDS } from "$lib/text/task";

export interface PhaseStyle {
  readonly tone: Tone;
  readonly word: string;
  readonly icon: IconName;
}

export const PHASES: Readonly<Record<Phase, PhaseStyle>> = {
  waiting: { tone: "attention", word: PHASE_WORDS.waiting, icon: "speech" },
  overdue: { tone: "attention", word: PHASE_WORDS.overdue, icon: "clock" },
  unconfirmed: { tone: "attention", word: PHASE_WORDS.unconfirmed, icon: "question" },
  blocked: { tone: "attention", word: PHASE_WORDS.blocked, icon: "key" },
  running: { tone: "running", word: PHASE_WORDS.running, icon: "ring" },
  answering: { tone: "running", word: PHASE_WORDS.answering, icon: "arrow-up" },
  cancelling: { tone: "neutral", word: PHASE_WORDS.cancelling, icon: "ring-bar" },
  done: { tone: "success", word: PHASE_WORDS.done, icon: "check" },
  doneWithError: { tone: "danger", word: PHASE_WORDS.doneWithError, icon: "check-broken" },
  failed: { tone: "danger", word: PHASE_WORDS.failed, icon: "cross" },
  cancelled: { tone: "neutral", word: PHASE_WORDS.cancelled, icon: "bar" },
  revoked: { tone: "neutral", word: PHASE_WORDS.revoked, icon: "lock" },
  unwatched: { tone: "neutral", word: PHASE_WORDS.unwatched, icon: "eye-bar" },
  silent: { tone: "stale", word: PHASE_WORDS.silent, icon: "ring-dashed" },
  lost: { tone: "stale", word: PHASE_WORDS.lost, icon: "cross-dashed" },
  expired: { tone: "stale", word: PHASE_WORDS.expired, icon: "clock-dashed" },
};

/** In the order they stand in lists. */
export const GROUPS: readonly PhaseGroup[] = ["needsYou", "moving", "noNews", "finished"];

/** In the order of the table; for filters. */
export const ALL_PHASES = Object.keys(PHASES) as readonly Phase[];
