// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ServerDto, ToolDto } from "$lib/bindings";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { makeServer } from "$lib/fake-core/entities";
import StartDialog from "./StartDialog.svelte";

vi.setConfig({ testTimeout: 60_000 });
let shown: Shown;
afterEach(() => shown.close());

const docs: ServerDto = {
  ...makeServer("docs", 0, 0),
  agreed: true,
  health: { kind: "up", since: null, why: null, hint: null, retryAt: null },
};
const tool = (name: string, destructive: boolean): ToolDto => ({
  name,
  title: null,
  description: "<b>words</b>",
  taskSupport: "optional",
  destructive,
  readOnly: !destructive,
  inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  callsDay: 0,
});

function open(name: string, calls: FakeOptions["calls"] = {}): FakeBackend {
  const backend = new FakeBackend({
    servers: [docs],
    calls: {
      "servers.tools": () => ({
        tools: [tool("read", false), tool("wipe", true)],
        callsSince: "2026-11-21T08:00:00.000Z",
      }),
      ...calls,
    },
  });
  shown = show(StartDialog, { wish: { server: "docs", tool: name }, onclose: () => undefined }, backend);
  return backend;
}
const started = (backend: FakeBackend) =>
  backend.called.filter((one) => one.name === "tasks.start").map((one) => one.input);

describe("starting a task", () => {
  it("sends the arguments of the form with the time limit", async () => {
    const backend = open("read");
    await shown.type("[role=dialog] [data-field=path] input", "/srv");
    await shown.type("[role=dialog] input[maxlength='40']", "20 min");
    await shown.press("[role=dialog] button", "Start");
    await until("it is started", () => started(backend).length > 0);
    expect(started(backend)).toEqual([
      { server: "docs", tool: "read", arguments: { path: "/srv" }, limitMs: 1_200_000 },
    ]);
  });

  it("begins with the arguments of an earlier call when it is run again", async () => {
    const backend = new FakeBackend({
      servers: [docs],
      calls: { "servers.tools": () => ({ tools: [tool("read", false)], callsSince: "2026-11-21T08:00:00.000Z" }) },
    });
    const wish = { server: "docs", tool: "read", arguments: { path: "/srv/old" } };
    shown = show(StartDialog, { wish, onclose: () => undefined }, backend);
    expect((await shown.find<HTMLInputElement>("[role=dialog] [data-field=path] input")).value).toBe("/srv/old");
    await shown.press("[role=dialog] button", "Start");
    await until("it is started", () => started(backend).length > 0);
    expect(started(backend)).toEqual([
      { server: "docs", tool: "read", arguments: { path: "/srv/old" }, limitMs: null },
    ]);
  });

  it("offers the arguments of earlier calls, and brings back what was typed", async () => {
    const recent = [
      { task: "hdl_1", at: "2026-11-21T14:00:00.000Z", agent: null, arguments: { path: "/srv/last" }, leftOut: true },
    ];
    const backend = open("read", { "tasks.recentArguments": () => ({ recent }) });
    await shown.type("[role=dialog] [data-field=path] input", "/typed");
    await shown.press("[role=dialog] button", "Recent arguments");
    await shown.press("[role=dialog] li button", "path: /srv/last");
    const path = () => document.querySelector<HTMLInputElement>("[data-field=path] input")?.value;
    await until("it is filled in", () => path() === "/srv/last");
    await shown.find("[role=dialog] [role=status]", "without its secrets");
    await shown.press("[role=dialog] button", "Bring back what was typed");
    await until("it is back", () => path() === "/typed");
    expect(started(backend), "nothing was started by it").toEqual([]);
  });

  it("starts what may destroy something only after a second step that shows the call", async () => {
    const backend = open("wipe");
    await shown.type("[role=dialog] [data-field=path] input", "/srv");
    await shown.press("[role=dialog] button", "Review");
    expect((await shown.find("[role=dialog] pre")).textContent).toContain('"path": "/srv"');
    expect(started(backend), "the first step starts nothing").toEqual([]);
    expect(document.activeElement?.textContent, "the way back has focus").toContain("Change it");
    await shown.press("[role=dialog] button", "Start wipe");
    await until("it is started once", () => started(backend).length === 1);
  });

  it("starts nothing while an argument is missing", async () => {
    const backend = open("read");
    await shown.press("[role=dialog] button", "Start");
    await shown.find("[role=dialog] [aria-invalid]");
    expect(started(backend)).toEqual([]);
  });

  it("shows a refusal of the core at the field it names, and keeps what was typed", async () => {
    open("read", {
      "tasks.start": () => {
        throw { code: "usage", message: "argument `/path`: must be a folder", hint: "" };
      },
    });
    await shown.type("[role=dialog] [data-field=path] input", "/srv/x");
    await shown.press("[role=dialog] button", "Start");
    await shown.find("[role=dialog] [data-field=path]", "Must be a folder.");
    expect((await shown.find<HTMLInputElement>("[role=dialog] [data-field=path] input")).value).toBe("/srv/x");
  });

  it("shows the words of a tool as text", async () => {
    open("read");
    await shown.find("[role=dialog] blockquote", "<b>words</b>");
    expect(document.querySelector("[role=dialog] blockquote b"), "markup is never made of them").toBeNull();
  });
});
