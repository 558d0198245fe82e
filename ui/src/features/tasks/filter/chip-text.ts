/* The words of a filter's chips. Pure. */
import { PHASES } from "$lib/task/phase";
import type { ConditionKey, Filter } from "$lib/task-filter";
import { coarse } from "$lib/format/time";
import { TASKS } from "$lib/text/tasks";

/** The value of a condition as its chip shows it: one or two names, else how many. */
export function chipValue(filter: Filter, key: ConditionKey): string {
  switch (key) {
    case "phases":
      return named(filter.phases.map((phase) => PHASES[phase].word));
    case "servers":
      return named(filter.servers);
    case "agents":
      return named(filter.agents);
    case "tools":
      return named(filter.tools);
    case "flags":
      return named(filter.flags.map((flag) => TASKS.filter.flags[flag]));
    case "text":
      return `“${clipped(filter.text)}”`;
    case "changed":
      return filter.changed === null
        ? ""
        : filter.changed.kind === "today"
          ? TASKS.filter.today
          : TASKS.filter.within(filter.changed.ms);
    case "olderThanMs":
      return filter.olderThanMs === null ? "" : coarse(filter.olderThanMs);
  }
}

function named(names: readonly string[]): string {
  return names.length > 2 ? TASKS.filter.anyOf(names.length) : names.map(clipped).join(", ");
}

function clipped(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}
