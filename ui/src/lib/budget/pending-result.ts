/* The state of a result that an agent has not read yet, and whether it fits its window. Pure. */
import type { BudgetDto, ComingDto, Phase } from "$lib/bindings";
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

export interface PendingOf {
  readonly one: ComingDto;
  readonly budget: BudgetDto;
}

const TURN: Readonly<Record<ComingDto["state"], number>> = { held: 0, slices: 1, ready: 2, working: 3 };

/** Of all agents: what a person decides first, then what comes with the next read, then open tasks; the largest first. */
export function pendingOf(budgets: readonly BudgetDto[]): readonly PendingOf[] {
  return budgets
    .flatMap((budget) => budget.coming.map((one): PendingOf => ({ one, budget })))
    .sort(
      (a, b) =>
        TURN[a.one.state] - TURN[b.one.state] ||
        (b.one.tokens ?? -1) - (a.one.tokens ?? -1) ||
        a.one.id.localeCompare(b.one.id),
    );
}
