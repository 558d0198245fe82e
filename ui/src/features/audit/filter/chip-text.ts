/* What a chip of the filter says. Pure. */
import type { AuditFilterDto } from "$lib/bindings";
import { singleLine } from "$lib/design";
import { count } from "$lib/format/count";
import { day } from "$lib/format/time";
import { filterText as text } from "$lib/text/audit/filter";
import { verbLabel } from "$lib/text/audit/verbs";
import type { Condition } from "../audit-filter";
import { shortId } from "../subject";

/** Verbs that are named before they are counted. */
const NAMED = 2;

export function chipValue(filter: AuditFilterDto, condition: Condition, now: number): string {
  const { first, last, since, until, actor, verbs, subject, server, agent, task, text: words } = filter;
  const short = (value: string | null) => singleLine(value ?? "", 40);
  switch (condition) {
    case "time":
      return span(since === null ? null : moment(since, now), until === null ? null : moment(until, now), text.time);
    case "actor":
      return named(text.actors, actor) ?? short(actor);
    case "verbs":
      return verbs.length > NAMED
        ? text.verbs(verbs.length)
        : verbs.map((verb) => short(verbLabel(verb))).join(text.or);
    case "subject":
      return named(text.subjects, subject) ?? short(subject);
    case "server":
      return short(server);
    case "agent":
      return short(agent);
    case "task":
      return shortId(short(task));
    case "text":
      return `“${short(words)}”`;
    case "rows":
      return span(first === null ? null : count(first), last === null ? null : count(last), text.rows);
  }
}

function span(
  from: string | null,
  to: string | null,
  words: { from: (one: string) => string; to: (one: string) => string; both: (from: string, to: string) => string },
): string {
  if (from !== null && to !== null) return words.both(from, to);
  return from !== null ? words.from(from) : to !== null ? words.to(to) : "";
}

const moment = (time: string, now: number) => day(time, now) || singleLine(time, 40);
const named = (words: Readonly<Record<string, string>>, value: string | null) =>
  value !== null && Object.hasOwn(words, value) ? words[value] : undefined;
