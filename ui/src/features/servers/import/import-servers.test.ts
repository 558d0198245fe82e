// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AddressDto, ImportServers as Input } from "$lib/bindings";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { aClientServer, CLIENTS } from "$lib/fake-core/servers/client-calls";
import { commandOf, foundFiles, matching, vaultValues } from "./found";
import ImportServers from "./ImportServers.svelte";

vi.setConfig({ testTimeout: 60_000 });

describe("what was found", () => {
  it("suggests a server that two programs have once, and none that its program does not start", () => {
    const found = foundFiles(CLIENTS);
    const suggested = found.flatMap(({ client, servers }) =>
      servers.filter(({ isSuggested }) => isSuggested).map(({ server }) => `${client.client} ${server.name}`),
    );
    expect(suggested).toEqual(["claude-code files", "claude-code issues"]);
    expect(found.map(({ file }) => file.path)).toContain("/home/ada/work/.cursor/mcp.json");
  });

  it("offers nothing that cannot be imported, and shows it last", () => {
    const [claude] = foundFiles(CLIENTS);
    expect(claude?.servers.map(({ server, isOpen }) => [server.name, isOpen])).toEqual([
      ["files", true],
      ["issues", true],
      ["broken", false],
      ["docs", false],
    ]);
  });

  it("is found by its name, by what would run, by its program and by its file", () => {
    const names = (typed: string) =>
      matching(foundFiles(CLIENTS), typed).flatMap(({ servers }) => servers.map(({ server }) => server.name));
    const all = names("");
    expect(names("issues")).toContain("issues");
    expect(names("issues")).not.toContain("files");
    expect(names("claude code").length).toBeGreaterThan(0);
    expect(names(".cursor/mcp.json").length).toBeLessThan(all.length);
    expect(names("no such server")).toEqual([]);
  });

  it("shows no value of an option that names a secret", () => {
    const metrics = foundFiles(CLIENTS)
      .flatMap(({ servers }) => servers)
      .find(({ server }) => server.name === "metrics");
    expect(metrics?.server.address && commandOf(metrics.server.address)).toBe(
      "npx -y @acme/metrics-mcp --api-key (hidden)",
    );
  });

  it("counts every value of an environment, because nothing says which of them are secrets", () => {
    const address: AddressDto = {
      kind: "stdio",
      command: "a",
      args: [],
      env: { LEVEL: "2" },
      secretEnv: ["KEY"],
      cwd: null,
    };
    expect(vaultValues(address)).toBe(2);
  });
});

describe("importing servers", () => {
  let shown: Shown;
  afterEach(() => shown.close());
  function open(calls: FakeOptions["calls"] = {}): FakeBackend {
    const backend = new FakeBackend({ servers: 0, calls });
    shown = show(ImportServers, { onclose: () => undefined, onadd: () => undefined }, backend);
    return backend;
  }
  const sent = (backend: FakeBackend) =>
    backend.called.filter((one) => one.name === "clients.import").map((one) => one.input as Input);

  it("says that what was chosen and is out of sight is imported too", async () => {
    const servers = Array.from({ length: 300 }, (_, at) => aClientServer(`server-${at}`));
    const file = { path: "/home/ada/many.json", scope: "user" as const, problem: null, drift: [], servers };
    const clients = [{ client: "cursor", label: "Cursor", files: [file] }];
    const backend = open({ "clients.list": () => ({ clients }) });
    await shown.type("#import-search", "server-29");
    await until("eleven are in sight", () => shown.text().includes("11 of 300 servers."));
    expect(document.body.querySelectorAll("form li")).toHaveLength(11);
    expect(shown.text()).toMatch(/not in this list and will be imported too/);
    const suggested = foundFiles(clients).flatMap((one) => one.servers.filter(({ isSuggested }) => isSuggested)).length;
    await shown.press("footer button[type=submit]", `Import ${suggested} server`);
    await until(
      "they are imported",
      () => sent(backend).length,
      (times) => times === 1,
    );
    expect(sent(backend)[0]?.picks).toHaveLength(suggested);
  });

  it("asks for a value that the file leaves open before anything is sent", async () => {
    const backend = open();
    await shown.press("footer button[type=submit]", "Import 2 servers");
    await shown.find("[aria-invalid]");
    expect(sent(backend)).toEqual([]);
    await shown.type("input[type=password]", "hush");
    await shown.press("footer button[type=submit]");
    await until(
      "two servers are imported",
      () => sent(backend).length,
      (times) => times === 1,
    );
    expect(sent(backend)[0]?.picks).toEqual([
      { path: "/home/ada/.claude.json", place: ["mcpServers", "files"], fingerprint: "fp-files", values: {} },
      {
        path: "/home/ada/.claude.json",
        place: ["mcpServers", "issues"],
        fingerprint: "fp-issues",
        values: { ISSUES_TOKEN: "hush" },
      },
    ]);
    await until(
      "what became of them is said",
      () => shown.text(),
      (text) => text.includes("2 servers imported"),
    );
    await until(
      "they are known now",
      () => shown.text(),
      (text) => text.includes("in Taskwarden as issues"),
    );
  });

  it("says of each server that was refused why, and keeps it in the list", async () => {
    const why = "its entry changed after you looked";
    const refused = { servers: [{ name: "files", state: "refused" as const, server: null, why }] };
    const one = { ...CLIENTS[0], files: [{ ...CLIENTS[0]?.files[0], servers: [aClientServer("files")] }] };
    open({
      "clients.list": () => ({ clients: [one] }) as never,
      "clients.import": () => refused,
    });
    await shown.press("footer button[type=submit]", "Import 1 server");
    await until(
      "the reason is shown",
      () => shown.text(),
      (text) => text.includes("Its entry changed after you looked."),
    );
    expect(shown.text()).toContain("1 server not imported");
    await shown.find("footer button[type=submit]", "Import 1 server");
  });

  it("shows the lines of a file before they change, and sends what was agreed to", async () => {
    const backend = open();
    await shown.press(".ways button", "Route through Taskwarden…");
    await until(
      "the lines are there",
      () => document.body.textContent,
      (text) => text.includes('"@acme/docs-mcp"'),
    );
    const routed = () => backend.called.filter((one) => one.name === "clients.route").map((one) => one.input);
    expect(routed()).toEqual([{ client: "claude-code", agreed: [] }]);
    const agree = [...document.querySelectorAll("button")].find((one) => one.textContent.includes("Change 1 file"));
    agree?.click();
    await until(
      "the way back is named",
      () => document.body.textContent,
      (text) => text.includes("cp /home/ada/"),
    );
    expect(routed().at(-1)).toEqual({ client: "claude-code", agreed: ["fp-edit"] });
    expect(document.body.textContent).toContain("Start Claude Code again");
  });

  it("names a file that cannot be read, with the reason", async () => {
    open();
    await until(
      "the file is named",
      () => shown.text(),
      (text) => text.includes("Line 4, column 3: a key stands twice."),
    );
  });
});
