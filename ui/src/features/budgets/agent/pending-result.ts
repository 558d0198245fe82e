/* The state of a result that an agent has not read yet, and whether it fits its window. Pure. */
import type { ComingDto, Phase } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { PHASES } from "$lib/task/phase";
import { budgetsText } from "$lib/text/budgets";

export interface PendingResultStatus {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
}

export function pendingResultStatus(one: ComingDto, free: number | null): PendingResultStatus {
  const words = budgetsText.pending;
  switch (one.state) {
    case "held":
      return { tone: "attention", icon: "hand", word: isOver(one, free) ? words.heldOver : words.held };
    case "slices":
      return { tone: "neutral", icon: "file", word: words.slices };
    case "working": {
      const { tone, icon, word } = PHASES[isPhase(one.phase) ? one.phase : "running"];
      return { tone, icon, word: words.working(word, one.percent) };
    }
    case "ready":
      return { tone: "neutral", icon: "down-tray", word: words.ready };
    default:
      return one.state satisfies never;
  }
}

const isPhase = (word: string | null): word is Phase => word !== null && Object.hasOwn(PHASES, word);

/** It does not fit into what is seen to be free. */
export const isOver = (one: ComingDto, free: number | null): boolean =>
  free !== null && one.tokens !== null && one.tokens > free;
