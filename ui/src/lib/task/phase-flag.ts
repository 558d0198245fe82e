/* A task's phase with a flag where the phase alone says too little: why it is late, how a cancel ended.
   Word, tone and icon are those of the table in phase.ts. Pure. */
import type { HeldDto, Phase, TaskPauseDto, TaskRow } from "$lib/bindings";
import { PHASE_FLAGS } from "$lib/text/task";
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
  readonly paused?: TaskPauseDto;
}

export function phaseAndFlag(phase: Phase, facts: Facts): PhaseAndFlag {
  if (phase === "waiting" && facts.paused && facts.paused.kind !== "frozen")
    return { style: { ...PHASES.waiting, icon: "pause", word: PHASE_FLAGS[facts.paused.kind] }, flag: null };
  if (facts.paused?.kind === "frozen" && !facts.over) return { style: PHASES[phase], flag: PHASE_FLAGS.frozen };
  // Ruling 4: the reason of an overrun is shown.
  const style =
    phase === "overdue" && facts.overdueWhy === "usual"
      ? { ...PHASES.overdue, word: PHASE_FLAGS.laterThanUsual }
      : PHASES[phase];
  if (facts.stopState === "refused" && phase !== "cancelled") return { style, flag: PHASE_FLAGS.cancelRefused };
  if (facts.stopState === "finishedAnyway") return { style, flag: PHASE_FLAGS.finishedAnyway };
  if (facts.held !== null && facts.held.verdict === null)
    return { style, flag: facts.over ? PHASE_FLAGS.held : PHASE_FLAGS.willBeHeld };
  if (facts.orphanedAt !== null && !facts.over) return { style, flag: PHASE_FLAGS.agentGone };
  return { style, flag: null };
}
