/* The words of a filter's text: those of the screen, written without blanks. What an earlier version wrote is read, too. */
import type { Flag, ListQuery, Phase, PhaseGroup } from "$lib/bindings";
import { ALL_PHASES, GROUPS } from "$lib/task/phase";
import { GROUP_WORDS, PHASE_WORDS } from "$lib/text/task";

const dashed = (text: string) => text.toLowerCase().replace(/[^a-z]+/g, "-");
const bare = (text: string) => text.toLowerCase().replace(/[^a-z]/g, "");

export const FLAGS: readonly Flag[] = ["orphaned", "held", "needsYou", "hidden"];
const FLAG_WORDS: Readonly<Record<Flag, string>> = {
  orphaned: "agent-gone",
  held: "held",
  needsYou: "needs-you",
  hidden: "hidden",
};
export const SORTS: readonly ListQuery["sort"][] = ["newest", "oldest", "changed", "phase", "task", "server", "agent"];
export const GROUPINGS: readonly ListQuery["groupBy"][] = ["need", "server", "agent", "none"];

export const groupWord = (group: PhaseGroup): string => dashed(GROUP_WORDS[group]);

/** "No news" is the group of that name; the phase goes by its own name. */
export function phaseWord(phase: Phase): string {
  const word = dashed(PHASE_WORDS[phase]);
  return GROUPS.some((group) => groupWord(group) === word) ? phase.toLowerCase() : word;
}

export const flagWord = (flag: Flag): string => FLAG_WORDS[flag];

export const readGroup = (text: string): PhaseGroup | undefined =>
  GROUPS.find((one) => bare(one) === bare(text) || bare(GROUP_WORDS[one]) === bare(text));

export const readPhase = (text: string): Phase | undefined =>
  ALL_PHASES.find((one) => bare(one) === bare(text) || bare(PHASE_WORDS[one]) === bare(text));

export const readFlag = (text: string): Flag | undefined =>
  FLAGS.find(
    (one) =>
      bare(one) === bare(text) ||
      bare(FLAG_WORDS[one]) === bare(text) ||
      bare(`result ${FLAG_WORDS[one]}`) === bare(text),
  );
