/* Made-up logs for the stories and tests of this screen. */
import type {
  ApiError,
  AuditListDto,
  AuditRowDto,
  AuditShownDto,
  ListAudit,
  ListReceipts,
  ReceiptDto,
  ReceiptListDto,
} from "$lib/bindings";
import { aReceipt } from "$lib/fake-core/audit/receipts";
import { aRow, hashOf } from "$lib/fake-core/audit/rows";
import { STORY_NOW } from "$lib/fake-core/story";

export const FAILED: ApiError = {
  code: "failed",
  message: "the registry cannot be read: disk I/O error",
  hint: "Look at `taskwarden doctor`.",
};

export const throws = (error: ApiError) => (): never => {
  throw error;
};

/** The rows `first` to `last` of a log that ends with `last`; some of them otherwise. */
export function logOf(first: number, last: number, changes: Record<number, Partial<AuditRowDto>> = {}): AuditRowDto[] {
  return Array.from({ length: last - first + 1 }, (_, at) =>
    aRow(first + at, last, STORY_NOW, changes[first + at] ?? {}),
  );
}

const long = "x".repeat(100_000);
/** Text as an attacker would choose it. */
export const HOSTILE: Readonly<Record<number, Partial<AuditRowDto>>> = {
  30: { who: `<img src=x onerror=alert(1)> ${long}`, note: `<script>alert(1)</script> ${long}` },
  29: { who: "\u202Etxt.exe\u001b[31m", note: "\u202Ereversed\n\nlines" },
  28: { who: "مرحبا بالعالم", note: "تم الإلغاء: 42 سطرا", server: "مستودع" },
  27: { verb: `<b>${"v".repeat(400)}</b>`, subject: `planet:${long}`, server: null },
  26: { server: "s".repeat(2_000), agent: "a".repeat(2_000), detail: { [`<b>${"k".repeat(300)}`]: long } },
  25: { actor: `martian:${long}`, who: `martian:${long}`, subject: `request:hdl_1:${"k".repeat(4_000)}` },
  24: { who: "", note: "", subject: "", verb: "" },
};

export const HOSTILE_CALLS: Readonly<Record<number, Partial<ReceiptDto>>> = {
  30: { tool: `<img src=x onerror=alert(1)> ${long}`, agent: `<b>${long}` },
  29: { tool: "\u202Etxt.exe\u001b[31m", server: "مستودع" },
  28: { verdict: `<b>${"v".repeat(400)}</b>`, outcome: "o".repeat(400), server: "s".repeat(2_000) },
  27: { tool: "", agent: "", server: "", verdict: "", outcome: "" },
  26: { tookMs: 86_400_000 * 12, bytesIn: 2 ** 50, bytesOut: 2 ** 50 },
};

const [older, row, newer] = logOf(23, 25);
if (!older || !row || !newer) throw new Error("there are three rows");
/** Row 24 where row 23 was put in by somebody. */
export const NOT_LINKED: AuditShownDto = {
  row,
  previous: hashOf(99),
  before: older,
  after: newer,
  isLinked: false,
  unknown: ["It does not link to the rows beside it: rows were changed, removed or put in."],
};

/** A long log whose matches are all among its newest rows. */
export const SPARSE: AuditRowDto[] = [
  ...logOf(1_234_500, 1_234_567, { 1_234_560: { note: "wrong month" } }),
  aRow(1, 1_234_567, STORY_NOW),
];

/** Pages of a log to which twelve rows were written since. */
export function growing(): (input: ListAudit) => AuditListDto {
  const rows = logOf(18_105, 18_204).reverse();
  return ({ filter, limit }) => ({
    rows: rows.filter((row) => filter.actor === null || row.actor.startsWith(filter.actor)),
    next: 18_105,
    first: 1,
    last: limit === 1 ? 18_216 : 18_204,
  });
}

/** Pages of receipts to which three were added since. */
export function growingCalls(): (input: ListReceipts) => ReceiptListDto {
  return ({ limit }) => ({
    rows: Array.from({ length: 100 }, (_, at) => aReceipt(4_711 - at, 4_711, STORY_NOW)),
    next: 4_612,
    first: 1,
    last: limit === 1 ? 4_714 : 4_711,
  });
}
