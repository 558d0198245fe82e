/* What the palette can do and find: bindings of the screens, what waits, servers, tasks. Pure. */
import type { IconName } from "$lib/design";
import { inboxOrder } from "$lib/feed/feed-state";
import { keysOf, keyLabel, type Binding } from "$lib/keys";
import type { InboxRow, ListQuery, ServerDto, TaskRow } from "$lib/bindings";
import { phaseAndFlag } from "$lib/task/phase-flag";
import { COMMANDS } from "$lib/text/app";
import { writeHash } from "$lib/route";

export interface Entry {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  /** Muted, behind the label. */
  readonly note: string;
  readonly icon: IconName | null;
  readonly kbd: string | null;
  readonly act: { kind: "run"; binding: Binding } | { kind: "open"; hash: string };
}

/** Waiting items in the palette before anything is typed. */
const WAITING_SHOWN = 5;
export const TASKS_SHOWN = 8;

export function commands(bindings: readonly Binding[]): Entry[] {
  const seen = new Set<string>();
  return bindings.flatMap((binding) => {
    const id = `${binding.group}/${binding.label}`;
    // The same action may stand in two scopes; the newest comes first and counts.
    if (binding.move || binding.label === "" || seen.has(id) || !(binding.when?.() ?? true)) return [];
    seen.add(id);
    const key = keysOf(binding)[0];
    return [
      {
        id,
        group: binding.group,
        label: binding.label,
        note: "",
        icon: null,
        kbd: key === undefined ? null : keyLabel(key),
        act: { kind: "run" as const, binding },
      },
    ];
  });
}

/** Titles are those of the inbox. */
export function waiting(rows: Iterable<InboxRow>, typed: string, titleOf: (row: InboxRow) => string): Entry[] {
  const all = [...rows].filter((row) => row.answeredBy === null).sort(inboxOrder);
  const entries = all.map((row) => ({
    id: `inbox/${row.id}`,
    group: COMMANDS.groups.waiting,
    label: titleOf(row),
    note: [row.server, row.tool].filter(Boolean).join(" / "),
    icon: "speech" as const,
    kbd: null,
    act: { kind: "open" as const, hash: writeHash({ place: "inbox", id: row.id, search: "" }) },
  }));
  return typed === "" ? entries.slice(0, WAITING_SHOWN) : entries;
}

export function servers(list: Iterable<ServerDto>): Entry[] {
  return [...list].map((server) => ({
    id: `server/${server.name}`,
    group: COMMANDS.groups.servers,
    label: server.name,
    note: "",
    icon: "servers" as const,
    kbd: null,
    act: { kind: "open" as const, hash: writeHash({ place: "servers", id: server.name, search: "" }) },
  }));
}

export function tasks(rows: readonly TaskRow[]): Entry[] {
  const styleOf = (row: TaskRow) => phaseAndFlag(row.phase, row).style;
  return rows.map((row) => ({
    id: `task/${row.id}`,
    group: COMMANDS.groups.tasks,
    label: row.tool ?? row.id,
    note: `${row.server} · ${styleOf(row).word} · ${row.id}`,
    icon: styleOf(row).icon,
    kbd: null,
    act: { kind: "open" as const, hash: writeHash({ place: "tasks", id: row.id, search: "" }) },
  }));
}

export function taskQuery(text: string): ListQuery {
  return {
    phases: [],
    servers: [],
    agents: [],
    tools: [],
    flags: [],
    text,
    changedWithinMs: null,
    olderThanMs: null,
    groupBy: "none",
    sort: "changed",
  };
}

/** Entries under their headings, in order of first appearance. */
export function grouped(entries: readonly Entry[]): { group: string; entries: Entry[] }[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) groups.set(entry.group, [...(groups.get(entry.group) ?? []), entry]);
  return [...groups].map(([group, list]) => ({ group, entries: list }));
}
