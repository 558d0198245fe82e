/* The file of an export: its parts as the core gives them, up to a size that a page can hold, and the command that writes
   a larger one. It checks nothing: that is what the file is for. */
import type { AuditFilterDto, ExportAudit, ExportBegun, ExportPart, ReadExport } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";

/** Judgement, not measured: tens of megabytes, the most with a proof in each row. A page holds and saves that at once. */
export const MOST_ROWS = 50_000;

/** What a file holds: rows with a proof and the others without their notes, matching rows with a proof each, or a table. */
export type ExportKind = "stubs" | "hashes" | "csv";

/** Whether it can be checked; a table for a spreadsheet cannot. */
export const isProof = (kind: ExportKind): boolean => kind !== "csv";

const ASKED: Readonly<Record<ExportKind, Omit<ExportAudit, "filter">>> = {
  stubs: { format: "jsonl", gaps: "stubs" },
  hashes: { format: "jsonl", gaps: "hashes" },
  // Gaps mean nothing there: it holds the rows that match.
  csv: { format: "csv", gaps: "stubs" },
};

export interface ExportFile {
  readonly parts: readonly string[];
  readonly rows: number;
  /** Rows that are in it without their note. */
  readonly stubs: number;
  /** What it proves, as the core says. */
  readonly proves: string;
  /** A row that was changed: then the file is evidence of that. */
  readonly broken: number | null;
}

/** Null when it would be too large: what matches is known only once the export has begun. */
export async function readExport(
  backend: Pick<Backend, "call">,
  filter: AuditFilterDto,
  kind: ExportKind,
  onrows: (done: number, of: number) => void,
): Promise<ExportFile | null> {
  const begun: ExportBegun = await backend.call("audit.export", { filter, ...ASKED[kind] });
  const of = kind === "stubs" ? begun.last - begun.first + 1 : begun.matching;
  if (of > MOST_ROWS) return null;
  const parts = [begun.text];
  let [rows, stubs, broken] = [0, 0, null as number | null];
  for (let next: ReadExport | null = begun.next; next !== null;) {
    onrows(kind === "stubs" ? rows + stubs : rows, of);
    const part: ExportPart = await backend.call("audit.exportRows", next);
    // Matching calls are not counted before they are read.
    if (kind === "hashes" && part.receipts > MOST_ROWS) return null;
    parts.push(part.text);
    ({ rows, stubs, next } = part);
    broken ??= part.broken;
  }
  return { parts, rows, stubs: kind === "stubs" ? stubs : 0, broken, proves: begun.proves };
}

/** Rows that the file would have at most, as far as the screen knows the log. */
export function mostRows(filter: AuditFilterDto, first: number, last: number): number {
  return Math.max(0, Math.min(filter.last ?? last, last) - Math.max(filter.first ?? first, first) + 1);
}

export const fileName = (now: number, kind: ExportKind): string =>
  `audit-${new Date(now).toISOString().slice(0, 19).replace(/[T:]/g, "-")}.${ASKED[kind].format}`;

/** As a POSIX shell reads one word. A value may come with a link: it stays one word, and never becomes an option. */
function word(value: string): string {
  const plain = value.replace(/[\u0000-\u001F\u007F-\u009F]/g, " ");
  return /^[\w@%+:,./-]+$/.test(plain) ? plain : `'${plain.replaceAll("'", "'\\''")}'`;
}

/** `taskwarden audit export --server=docs --output=audit.jsonl`: the same rows without this page. */
export function commandOf(filter: AuditFilterDto, kind: ExportKind, file: string): string {
  const { verbs, ...single } = filter;
  const options = [
    ...Object.entries(single).flatMap(([name, value]) => (value == null ? [] : [`--${name}=${word(String(value))}`])),
    ...verbs.map((verb) => `--verb=${word(verb)}`),
    ...(kind === "stubs" ? [] : [kind === "csv" ? "--format=csv" : "--gaps=hashes"]),
  ];
  return ["taskwarden audit export", ...options, `--output=${word(file)}`].join(" ");
}
