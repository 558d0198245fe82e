/* The look of one task's phase where the phase alone says too little: why it is late, what came of a stop.
   The word, tone and icon stay those of the table in phase.ts. Pure. */
import type { HeldDto, Phase, TaskRow } from "$lib/bindings";
import { PHASES, type PhaseStyle } from "./phase";

export interface PhaseAndFlag {
  readonly style: PhaseStyle;
  /** A flag beside the word; null for none. */
  readonly flag: string | null;
}

interface Facts {
  readonly overdueWhy: TaskRow["overdueWhy"];
  readonly stopState: TaskRow["stopState"];
  readonly held: HeldDto | null;
  readonly orphanedAt: string | null;
  readonly over: boolean;
}

export function phaseAndFlag(phase: Phase, facts: Facts): PhaseAndFlag {
  // Ruling 4: the reason of an overrun is shown.
  const style =
    phase === "overdue" && facts.overdueWhy === "usual"
      ? { ...PHASES.overdue, word: "Later than usual" }
      : PHASES[phase];
  if (facts.stopState === "refused" && phase !== "cancelled") return { style, flag: "stop refused" };
  if (facts.stopState === "finishedAnyway") return { style, flag: "not stopped in time" };
  if (facts.held !== null && facts.held.verdict === null)
    return { style, flag: facts.over ? "result held" : "result will be held" };
  if (facts.orphanedAt !== null && !facts.over) return { style, flag: "agent gone" };
  return { style, flag: null };
}
