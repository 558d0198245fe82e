/* Receipts of made-up calls. One is made when it is read, so that a million cost nothing. */
import type { ReceiptDto, ReceiptFilterDto } from "$lib/bindings";
import { iso } from "../random";

interface Kind {
  readonly agent: string;
  readonly server: string | null;
  readonly tool: string;
  readonly outcome: string;
  readonly verdict?: string;
  readonly tookMs: number;
  readonly bytesOut: number;
}

const KINDS: readonly Kind[] = [
  { agent: "claude-code", server: "docs", tool: "search", outcome: "result", tookMs: 12, bytesOut: 4_200 },
  { agent: "claude-code", server: "docs", tool: "read_page", outcome: "result", tookMs: 31, bytesOut: 18_400 },
  { agent: "order-bot", server: "warehouse", tool: "backfill_orders", outcome: "task", tookMs: 52, bytesOut: 0 },
  { agent: "research-7", server: "docs", tool: "search", outcome: "toolError", tookMs: 9, bytesOut: 310 },
  { agent: "order-bot", server: "warehouse", tool: "count_stock", outcome: "result", tookMs: 4, bytesOut: 96 },
  {
    agent: "research-7",
    server: null,
    tool: "drop_everything",
    outcome: "refused",
    verdict: "unknownTool",
    tookMs: 0,
    bytesOut: 0,
  },
  { agent: "claude-code", server: "ci-server", tool: "run_migrations", outcome: "lost", tookMs: 41_200, bytesOut: 0 },
  {
    agent: "order-bot",
    server: "warehouse",
    tool: "count_stock",
    outcome: "refused",
    verdict: "halted",
    tookMs: 0,
    bytesOut: 0,
  },
];
/** Between two calls. */
const GAP_MS = 41_000;

/** Receipt `number` of a log that ends with `last`. */
export function aReceipt(number: number, last: number, now: number, change: Partial<ReceiptDto> = {}): ReceiptDto {
  const kind = KINDS[number % KINDS.length] ?? (KINDS[0] as Kind);
  return {
    number,
    at: iso(now - (last - number + 1) * GAP_MS),
    agent: kind.agent,
    agentId: `agt_${kind.agent}`,
    server: kind.server,
    serverId: kind.server === null ? null : `srv_${kind.server}`,
    tool: kind.tool,
    argsMark: "00112233445566778899aabbccddeeff",
    verdict: kind.verdict ?? "allowed",
    outcome: kind.outcome,
    tookMs: kind.tookMs,
    bytesIn: 120,
    bytesOut: kind.bytesOut,
    handle: kind.outcome === "task" ? `hdl_${String(number).padStart(26, "0")}` : null,
    fits: true,
    ...change,
  };
}

export function receiptMatches(receipt: ReceiptDto, filter: ReceiptFilterDto): boolean {
  const { since, until, agent, server, tool, verdicts, outcomes, task } = filter;
  return (
    (since === null || receipt.at >= since) &&
    (until === null || receipt.at < until) &&
    (agent === null || receipt.agent === agent) &&
    (server === null || receipt.server === server) &&
    (tool === null || receipt.tool === tool) &&
    (verdicts.length === 0 || verdicts.includes(receipt.verdict)) &&
    (outcomes.length === 0 || outcomes.includes(receipt.outcome)) &&
    (task === null || (receipt.handle?.startsWith(task) ?? false))
  );
}
