// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import AddServer from "./AddServer.svelte";
import { EMPTY, type Draft } from "./server-draft";
import RemoveServer from "../RemoveServer.svelte";
import { aServer } from "../servers.example";

vi.setConfig({ testTimeout: 60_000 });
let shown: Shown;
afterEach(() => shown.close());

const draft: Draft = {
  ...EMPTY,
  name: "billing",
  command: "billing-mcp --read-only",
  env: [{ id: 1, name: "KEY", value: "hush", secret: true }],
};
const down = aServer("billing", {
  health: { kind: "down", since: null, why: "it ended with code 1", hint: "Look at its words.", retryAt: null },
  stderrTail: "no license\n",
});

function add(calls: FakeOptions["calls"] = {}, change: Partial<Draft> = {}): FakeBackend {
  const backend = new FakeBackend({ servers: 1, calls });
  shown = show(
    AddServer,
    {
      draft: { ...draft, ...change },
      taken: ["docs"],
      onclose: () => undefined,
      onopen: () => undefined,
      onimport: () => undefined,
    },
    backend,
  );
  return backend;
}
const input = (backend: FakeBackend, name: string) =>
  backend.called.filter((one) => one.name === name).map((one) => one.input);

describe("adding a server", () => {
  it("sends exactly the words that were shown, and secrets apart from them", async () => {
    const backend = add();
    await shown.find(".consent dd", "/usr/bin/billing-mcp");
    const words = [...shown.page.querySelectorAll(".consent dd")].map((line) => line.textContent);
    expect(words.slice(0, 2)).toEqual(["/usr/bin/billing-mcp", "--read-only"]);
    await shown.press("button[type=submit]");
    await shown.find("*", "billing is connected");
    expect(input(backend, "servers.add")).toEqual([
      {
        name: "billing",
        address: {
          kind: "stdio",
          command: "/usr/bin/billing-mcp",
          args: ["--read-only"],
          env: {},
          secretEnv: ["KEY"],
          cwd: null,
        },
        secrets: { KEY: "hush" },
        agreed: true,
      },
    ]);
    expect(shown.text(), "a secret is never shown").not.toContain("hush");
  });

  it("keeps what was typed and shows why when the server cannot be reached", async () => {
    add({ "servers.add": () => ({ server: down, tools: null }) });
    await shown.press("button[type=submit]");
    await shown.find("*", "billing was added, but cannot be reached");
    expect(shown.text()).toContain("It ended with code 1");
    expect(shown.text(), "its last words are shown").toContain("no license");
    expect((await shown.find<HTMLInputElement>("input.mono")).value).toBe("billing-mcp --read-only");
  });

  it("contacts nothing while something is to be corrected, and says where", async () => {
    const backend = add({}, { command: "billing-mcp 'open" });
    await shown.press("button[type=submit]");
    await shown.find("*", "The quote ' at character 13 is never closed.");
    await until("focus stands at what is wrong", () => document.activeElement?.getAttribute("aria-invalid") === "true");
    expect(input(backend, "servers.add")).toEqual([]);
  });

  it("moves an assignment before the program to the secrets", async () => {
    add({}, { command: "API_TOKEN=abc billing-mcp", env: [] });
    await shown.press("button", "Move API_TOKEN to the environment");
    expect((await shown.find<HTMLInputElement>("input.mono")).value).toBe("billing-mcp");
    expect(
      shown.page.querySelector<HTMLInputElement>("input[type=password]")?.value,
      "it looks like a secret and became one",
    ).toBe("abc");
  });
});

describe("removing a server", () => {
  it("asks again when more tasks opened since it was asked", async () => {
    let open = 1;
    const server = aServer("ci", { openTasks: 1 });
    const backend = new FakeBackend({
      servers: [server],
      tasks: 0,
      calls: { "servers.show": () => ({ ...server, openTasks: open, figures: { ...server.figures, open } }) },
    });
    shown = show(RemoveServer, { server, onclose: () => undefined, onremoved: () => undefined }, backend);
    await shown.find("p", "1 task is still open on it");
    open = 3;
    await shown.press("button", "Remove ci");
    await shown.find("[role=alert]", "Now 3 tasks are open");
    expect(input(backend, "servers.remove"), "nothing was removed").toEqual([]);
    await shown.press("button", "Remove ci");
    await until("it is removed", () => input(backend, "servers.remove").length > 0);
    expect(input(backend, "servers.remove")).toEqual([{ name: "ci", evenWithOpenTasks: true }]);
  });
});
