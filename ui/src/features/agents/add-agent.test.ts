// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeBackend } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { route } from "$lib/route.svelte";
import Screen, { ADD } from "./AgentsScreen.svelte";

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

describe("adding an agent", () => {
  it("shows the settings of the chosen program first, and when it connected", async () => {
    const backend = new FakeBackend({ agents: 0, servers: 1, tasks: 0 });
    shown = show(Screen, {}, backend);
    route.go("agents", ADD);
    const name = await shown.find<HTMLInputElement>("aside input[maxlength]");
    name.value = "mine";
    name.dispatchEvent(new Event("input", { bubbles: true }));
    await shown.find("aside option", "Codex");
    const program = await shown.find<HTMLSelectElement>("aside select");
    program.value = "codex";
    program.dispatchEvent(new Event("change", { bubbles: true }));
    name.focus();
    await shown.press("aside footer button[type=submit]");
    await until(
      "focus is at the token, not lost with the form",
      () => document.activeElement?.textContent.trim() === "Copy",
    );
    await shown.find("aside pre", "[mcp_servers.taskwarden]");
    expect(backend.called.find((one) => one.name === "agents.add")?.input).toMatchObject({
      name: "mine",
      program: "codex",
    });
    await shown.find("aside [role=status]", "Waiting for its program to connect");
    await shown.find("aside [role=status]", "Connected: codex 2.1.7");
    await shown.press("aside [role=tab]", "Claude Code");
    await shown.find("aside pre", "claude mcp add");
    const line = [...shown.page.querySelectorAll("aside pre")].find((one) =>
      one.textContent.includes("claude mcp add"),
    );
    expect(line?.textContent, "no line for a terminal holds the token").not.toContain("twa_");
  });
});
