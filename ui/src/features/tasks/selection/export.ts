/* Selected tasks as a file, with the filter they were found by. Pure; saving is lib/result/export. */
import type { TaskRow } from "$lib/bindings";
import { elapsed } from "$lib/format/time";

const FIELDS = [
  "id",
  "phase",
  "tool",
  "server",
  "agent",
  "createdAt",
  "endedAt",
  "tookMs",
  "status",
  "progressDone",
  "progressTotal",
  "tokens",
  "says",
] as const;
type Line = Readonly<Record<(typeof FIELDS)[number], string | number | null>>;

function lineOf(row: TaskRow, now: number): Line {
  return {
    id: row.id,
    phase: row.phase,
    tool: row.tool,
    server: row.server,
    agent: row.agent,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    tookMs: elapsed(row, now),
    status: row.status,
    progressDone: row.progress?.done ?? null,
    progressTotal: row.progress?.total ?? null,
    tokens: row.tokens === null ? null : row.tokens.arguments + row.tokens.handle + (row.tokens.result ?? 0),
    says: row.says ?? row.statusMessage ?? row.progress?.message ?? null,
  };
}

/** A spreadsheet takes a text that begins like this for a formula, and texts are the servers'. */
const FORMULA = /^[\t\r\n ]*[=+\-@|]/;

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export interface Exported {
  readonly name: string;
  readonly text: string;
}

/** `filter`: the text of the filter, empty for all tasks. */
export function exportTasks(rows: readonly TaskRow[], format: "csv" | "json", filter: string, now: number): Exported {
  const at = new Date(now).toISOString();
  const lines = rows.map((row) => lineOf(row, now));
  const name = `tasks-${at.slice(0, 19).replace(/[T:]/g, "-")}.${format}`;
  if (format === "json")
    return {
      name,
      text: `${JSON.stringify({ exportedAt: at, filter, count: lines.length, tasks: lines }, null, 2)}\n`,
    };
  const about = `# ${[`exported ${at}`, `filter ${filter === "" ? "none" : filter}`, `count ${lines.length}`].join("; ")}`;
  const table = [FIELDS.join(","), ...lines.map((line) => FIELDS.map((field) => cell(line[field])).join(","))];
  return { name, text: [about.replace(/[\r\n]/g, " "), ...table, ""].join("\r\n") };
}
