/* Made-up items that belong together: questions that take one answer, and calls that were lost together. */
import { before, item, type Item } from "./inbox.example";

/** Questions of one tool with one form, each about something else: they can be answered together. */
export const equalQuestions = (count: number): readonly Item[] =>
  Array.from({ length: count }, (_, at) =>
    item({
      at: 600 + at,
      kind: "form",
      server: "storage",
      tool: "archive_bucket",
      agent: at % 2 === 0 ? "nightly-ops" : "claude-code",
      message: `Move bucket logs-${at + 1} to cold storage?`,
      row: { form: "f00df00df00df00d", openedAt: before(9 - (at % 9)) },
      request: {
        schema: {
          type: "object",
          properties: {
            go: { type: "boolean", title: "Move it", default: true },
            keepDays: { type: "integer", title: "Keep for days", minimum: 1, maximum: 3_650, default: 90 },
          },
          required: ["go"],
        },
      },
    }),
  );

/** Calls that were lost together: one item. */
export function cause(count: number, kind: "unconfirmed" | "lost" = "unconfirmed"): Item {
  const tools = ["ask60", "progress", "tidy", "secretform", "rsync", "mixed"];
  const alone = item({ at: 700, kind, server: "hostile", tool: "ask60", row: { openedAt: before(1) } });
  return {
    ...alone,
    row: {
      ...alone.row,
      id: `hostile/${kind}@${alone.row.openedAt}`,
      task: null,
      tool: null,
      agent: null,
      callCount: count,
      calls: Array.from({ length: Math.min(count, 100) }, (_, at) => ({
        task: `hdl_lost${at.toString(36)}`,
        tool: tools[at % tools.length] ?? null,
        agent: at % 3 === 0 ? "research-7" : "claude-code",
        destructive: at % 6 === 2,
      })),
    },
  };
}
