/* What a made-up core answers about its audit log, in pages as the core gives them. */
import type { AnchorDto, ApiError, AuditFilterDto, AuditRowDto, ReceiptDto } from "$lib/bindings";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { aReceipt, receiptMatches } from "./receipts";
import { hashOf } from "./rows";

/** As `PAGE_ROWS` of the core. */
const PAGE_ROWS = 100;
/** One call looks at so many numbers; the core looks at more. */
const NUMBERS_OF_A_CALL = 20_000;
const ACTORS = ["person", "agent", "control", "server", "system"];

type AuditCalls = Pick<
  Answers,
  | "audit.list"
  | "audit.calls"
  | "audit.show"
  | "audit.export"
  | "audit.exportRows"
  | "audit.anchors"
  | "audit.addAnchor"
  | "audit.addCollectorAnchor"
  | "audit.removeAnchor"
>;
/** As `page_rows_max` of the core. */
const EXPORT_ROWS = 1_000;

export function auditCalls(state: CoreState): AuditCalls {
  return {
    "audit.anchors": () => ({ anchors: state.anchors }),
    "audit.addAnchor": ({ kind = "file", path, remote = null }) => {
      if (!path.startsWith("/"))
        throw {
          code: "usage",
          message: `\`path\`: \`${path}\` is not the whole path of a file`,
          hint: "Give a path that begins at the root, such as `/media/usb/taskwarden.notes`.",
        } satisfies ApiError;
      const id = Math.max(0, ...state.anchors.map((anchor) => anchor.id)) + 1;
      const added: AnchorDto = {
        id,
        kind,
        remote,
        path,
        newest: state.audit.last,
        copied: new Date(state.now()).toISOString(),
        trouble: null,
        contradicts: false,
        isBesideRegistry: !path.startsWith("/media/"),
      };
      state.anchors = [...state.anchors, added];
      return added;
    },
    "audit.addCollectorAnchor": ({ url }) => {
      if (!/^https?:\/\//u.test(url))
        throw {
          code: "usage",
          message: "`url`: it is not a URL",
          hint: "Give the whole address of the collector, such as `https://collector.example:4318`.",
        } satisfies ApiError;
      const added: AnchorDto = {
        id: Math.max(0, ...state.anchors.map((anchor) => anchor.id)) + 1,
        kind: "otlp",
        remote: null,
        path: new URL(url).origin,
        newest: state.audit.last,
        copied: new Date(state.now()).toISOString(),
        trouble: null,
        contradicts: false,
        isBesideRegistry: false,
      };
      state.anchors = [...state.anchors, added];
      return added;
    },
    "audit.removeAnchor": ({ id }) => {
      state.anchors = state.anchors.filter((anchor) => anchor.id !== id);
      return { anchors: state.anchors };
    },
    "audit.list": ({ filter, before, limit }) => {
      check(filter);
      const { first, last } = state.audit;
      const lowest = Math.max(first, filter.first ?? first, 1);
      const rows: AuditRowDto[] = [];
      let at = Math.min(last, filter.last ?? last, before === null ? last : before - 1);
      const end = Math.max(lowest, at - NUMBERS_OF_A_CALL + 1);
      for (; at >= end && rows.length < (limit ?? PAGE_ROWS); at -= 1) {
        const row = state.audit.get(at);
        if (row && matches(row, filter)) rows.push(row);
      }
      return { rows, next: at >= lowest ? at + 1 : null, first, last };
    },
    "audit.calls": ({ filter, before, limit }) => {
      const last = state.receipts;
      const rows: ReceiptDto[] = [];
      let at = Math.min(last, before === null ? last : before - 1);
      const end = Math.max(1, at - NUMBERS_OF_A_CALL + 1);
      for (; at >= end && rows.length < (limit ?? PAGE_ROWS); at -= 1) {
        const receipt = aReceipt(at, last, state.now(), state.receiptChanges[at]);
        if (receiptMatches(receipt, filter)) rows.push(receipt);
      }
      return { rows, next: at >= 1 ? at + 1 : null, first: Math.min(1, last), last };
    },
    "audit.export": ({ filter, gaps, format }) => {
      check(filter);
      const first = Math.max(filter.first ?? 1, state.audit.first);
      const last = Math.min(filter.last ?? state.audit.last, state.audit.last);
      let matching = 0;
      for (let at = first; at <= last; at += 1) if (fits(state, at, filter)) matching += 1;
      if (matching === 0)
        throw {
          code: "notFound",
          message: `no row matches these filters together; the log has rows up to ${state.audit.last}`,
          hint: "Leave out some of them; nothing was written.",
        } satisfies ApiError;
      const next = {
        filter: { ...filter, first, last },
        format,
        gaps,
        size: last + 1,
        after: first - 1,
        rows: 0,
        stubs: 0,
        receipts: 0,
      };
      const proves =
        format === "csv"
          ? "The file is a copy to read and proves nothing; `--format jsonl` writes one that can be verified."
          : gaps === "hashes"
            ? "The file proves that each row is genuine and in its place, and so is each receipt of a call; that no matching row or call was left out is not proven."
            : `The file proves that each row is genuine and in its place, and that no row of ${first} to ${last} that matches was left out.`;
      return {
        next,
        first,
        last,
        matching,
        proves,
        text: format === "csv" ? "number,hash\r\n" : `${JSON.stringify({ manifest: { filter, gaps, first, last } })}\n`,
      };
    },
    "audit.exportRows": (input) => {
      const { filter, gaps, after, format } = input;
      const last = filter.last ?? state.audit.last;
      const end = Math.min(last, after + EXPORT_ROWS);
      const lines: string[] = [];
      let { rows, stubs } = input;
      for (let at = after + 1; at <= end; at += 1) {
        const isRow = fits(state, at, filter);
        if (isRow) rows += 1;
        else if (format === "jsonl" && gaps === "stubs") stubs += 1;
        else continue;
        if (format === "csv") lines.push(`${at},${hashOf(at)}`);
        else lines.push(JSON.stringify({ [isRow ? "row" : "stub"]: { number: at, hash: hashOf(at) } }));
      }
      if (end === last && format === "jsonl") lines.push(JSON.stringify({ trailer: { rows, stubs } }));
      const next = end === last ? null : { ...input, after: end, rows, stubs };
      return {
        text: lines.map((line) => `${line}${format === "csv" ? "\r\n" : "\n"}`).join(""),
        next,
        rows,
        stubs,
        receipts: 0,
        broken: null,
      };
    },
    "audit.show": ({ number }) => {
      const row = state.audit.get(number);
      const { first, last } = state.audit;
      if (!row)
        throw {
          code: "notFound",
          message: last === 0 ? "the audit log is empty" : `there is no row ${number}`,
          hint:
            last === 0 ? "A row is written with the first task or setting." : `The log has rows ${first} to ${last}.`,
        } satisfies ApiError;
      const before = state.audit.get(number - 1) ?? null;
      return {
        row,
        previous: number === 1 ? "0".repeat(64) : (before?.hash ?? hashOf(number - 1)),
        before,
        after: state.audit.get(number + 1) ?? null,
        isLinked: true,
        unknown: unknownOf(row, before === null),
      };
    },
  };
}

function fits(state: CoreState, number: number, filter: AuditFilterDto): boolean {
  const row = state.audit.get(number);
  return row !== undefined && matches(row, filter);
}

/** As the core refuses what it cannot read. */
function check({ actor, since, until }: AuditFilterDto): void {
  const kind = actor?.split(":", 1)[0] ?? null;
  if (kind !== null && !ACTORS.includes(kind))
    throw {
      code: "usage",
      message: `\`actor\`: unknown kind \`${kind}\``,
      hint: `Use one of ${ACTORS.map((one) => `\`${one}\``).join(", ")}, or a whole value such as \`person:ID\`.`,
    } satisfies ApiError;
  for (const [name, text] of [
    ["since", since],
    ["until", until],
  ] as const)
    if (text !== null && Number.isNaN(Date.parse(text)))
      throw {
        code: "usage",
        message: `\`${name}\`: \`${text}\` is not a time`,
        hint: "Give a time such as `2026-11-21T22:00:00Z`, or a date such as `2026-11-21` (UTC).",
      } satisfies ApiError;
}

function matches(row: AuditRowDto, filter: AuditFilterDto): boolean {
  const { since, until, actor, verbs, subject, server, agent, task, text } = filter;
  const isOfKind = (value: string, wanted: string | null) =>
    wanted === null || value === wanted || value.startsWith(`${wanted}:`);
  return (
    (since === null || Date.parse(row.at) >= Date.parse(since)) &&
    (until === null || Date.parse(row.at) < Date.parse(until)) &&
    isOfKind(row.actor, actor) &&
    (verbs.length === 0 || verbs.includes(row.verb)) &&
    isOfKind(row.subject, subject) &&
    (server === null || row.server === server) &&
    (agent === null || row.agent === agent) &&
    (task === null || row.subject.split(":")[1]?.startsWith(task) === true) &&
    (text === null || (row.note ?? "").toLowerCase().includes(text.toLowerCase()))
  );
}

/** The core's own sentences. */
function unknownOf(row: AuditRowDto, isFirst: boolean): string[] {
  return [
    ...(row.fits
      ? []
      : ["Its fields do not give its hash: the row was changed. `taskwarden audit verify` checks the whole log."]),
    ...(row.layout === 1
      ? [
          "It was written by an earlier version: server and agent are not part of it, so filters over these do not find it.",
        ]
      : []),
    ...(row.note === null ? ["Its text was erased. The hash still covers it, and nobody can read it."] : []),
    ...(row.actor.startsWith("server:")
      ? ["This is what the server said, not what Taskwarden observed."]
      : row.actor.startsWith("person:") && row.detail["process"] === undefined && row.note !== null
        ? ["Which process the decision came from is not known."]
        : []),
    ...(isFirst && row.number > 1 ? ["The row before it is not there, so the link to it is not checked here."] : []),
  ];
}
