/* A made-up alarm: an agent that makes the same call again and again. */
import { before, item, type Item } from "./inbox.example";

const LOOP = item({
  at: 25,
  kind: "alarm",
  server: "memorygraph",
  tool: "search",
  agent: "order-bot",
  row: { openedAt: before(2), task: null },
});
const ID = "alm_7f3k9q2m4n5p6r7s8t9v0w1x2y";

export const SAME_CALL: Item = {
  ...LOOP,
  row: {
    ...LOOP.row,
    id: `${ID}/alarm`,
    alarm: {
      id: ID,
      agent: "order-bot",
      kind: "sameCall",
      server: "memorygraph",
      tool: "search",
      other: null,
      count: 12,
      limit: 10,
      since: before(6),
      raisedAt: before(3),
      lastAt: before(2),
      action: "warn",
      asks: false,
      decision: null,
      state: "open",
      overAt: null,
      dismissedBy: null,
    },
  },
};

/** The same where a rule keeps further calls waiting. */
export const ASKING: Item = {
  ...SAME_CALL,
  row: {
    ...SAME_CALL.row,
    ...(SAME_CALL.row.alarm && { alarm: { ...SAME_CALL.row.alarm, action: "ask", asks: true } }),
  },
};
