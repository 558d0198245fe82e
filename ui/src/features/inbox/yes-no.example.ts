/* Made-up questions that ask only yes or no. */
import { after, before, item } from "./inbox.example";

/** Asks only yes or no. */
export const yesNo = (destructive: boolean) =>
  item({
    at: 14,
    kind: "form",
    server: "docs",
    tool: "publish_pages",
    agent: "docs-writer",
    message: "42 pages are ready. Publish them now?",
    row: { deadline: after(20), openedAt: before(3), destructive },
    request: {
      schema: {
        type: "object",
        properties: {
          publish: { type: "boolean", title: "Publish now", description: "Readers see the pages within a minute." },
        },
        required: ["publish"],
      },
    },
  });
export const YES_NO = yesNo(false);
