// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeBackend } from "$lib/fake-core/backend";
import { show, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import { anAgent } from "../agents.example";
import AgentsScreen from "../AgentsScreen.svelte";

vi.setConfig({ testTimeout: 60_000 });
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe(): void {
      /* never tells */
    }
    disconnect(): void {
      /* nothing to stop */
    }
  },
);
let shown: Shown;
afterEach(() => shown.close());

function open(hash: string): FakeBackend {
  const backend = new FakeBackend({ agents: [anAgent("claude-code", { openTasks: 2 })], servers: 1, tasks: 0 });
  shown = show(AgentsScreen, {}, backend);
  route.open(hash);
  return backend;
}
const made = (backend: FakeBackend) => backend.called.filter((one) => one.name === "agents.newToken").length;

describe("a new token", () => {
  it("is made only after the sessions that end were named, and is shown once", async () => {
    const backend = open("#/agents/agt_claude-code");
    await shown.press("aside footer button", "New token");
    await shown.find("[role=dialog] li", "claude-code 2.1.7");
    expect(document.activeElement?.textContent, "focus rests on what changes nothing").toContain("Keep the old token");
    expect(made(backend)).toBe(0);
    await shown.press("[role=dialog] button", "Make a new token");
    await shown.find("[role=dialog] pre", "twa_");
    await shown.find("[role=dialog] [role=status]", "Waiting for its first request");
    expect(made(backend)).toBe(1);
    await shown.press("[role=dialog] button", "I have it");
    expect(document.body.textContent, "nothing shows it again").not.toContain("twa_");
  });
});

describe("the tabs of an agent", () => {
  it("are addresses, so that a link opens one", async () => {
    open("#/agents/agt_claude-code?tab=rules");
    await shown.find("aside [role=tabpanel]", "A repeated call joins the open task");
    await shown.press("aside [role=tab]", "Token");
    await shown.find("aside [role=tabpanel]", "http://127.0.0.1:7717/mcp");
    expect(location.hash).toBe("#/agents/agt_claude-code?tab=token");
  });

  it("check the connection when asked, and not before", async () => {
    const backend = open("#/agents/agt_claude-code");
    await shown.find("aside [role=tabpanel]", "Sessions");
    expect(backend.called.some((one) => one.name === "agents.check")).toBe(false);
    await shown.press("aside [role=tabpanel] button", "Check connection");
    await shown.find("aside [role=tabpanel]", "Its web address answers");
  });
});
