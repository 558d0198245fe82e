/* How the first answer to a call looks. Pure; its words are in text/audit/calls.ts. */
import type { IconName, Tone } from "$lib/design";

interface OutcomeStyle {
  readonly icon: IconName;
  readonly tone: Tone;
}

const STYLES: Readonly<Record<string, OutcomeStyle>> = {
  result: { icon: "check", tone: "success" },
  toolError: { icon: "check-broken", tone: "danger" },
  error: { icon: "cross", tone: "danger" },
  question: { icon: "speech", tone: "attention" },
  task: { icon: "tasks", tone: "running" },
  cancelled: { icon: "bar", tone: "neutral" },
  lost: { icon: "cross-dashed", tone: "stale" },
  notSent: { icon: "cross", tone: "danger" },
  refused: { icon: "lock", tone: "danger" },
};

/** A word that this version does not know is no good news and no bad news. */
export const outcomeStyle = (word: string): OutcomeStyle =>
  (Object.hasOwn(STYLES, word) ? STYLES[word] : undefined) ?? { icon: "question", tone: "neutral" };
