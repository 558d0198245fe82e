import { describe, expect, it } from "vitest";
import { validateDraft, EMPTY, suggestName, type Draft, type Pair } from "./server-draft";

const draft = (change: Partial<Draft>): Draft => ({ ...EMPTY, name: "billing", ...change });
const pair = (name: string, value: string, secret = false, id = 1): Pair => ({ id, name, value, secret });
const why = (change: Partial<Draft>, taken: string[] = []) =>
  validateDraft(draft(change), taken).problems.map((one) => [
    one.field,
    typeof one.why === "string" ? one.why : one.why.kind,
  ]);

describe("a new server", () => {
  it("on this machine keeps words apart and secrets out of the address", () => {
    const env = [pair("LEVEL", "info"), pair("KEY", "hush", true, 2), pair("", "", false, 3)];
    const checked = validateDraft(draft({ command: "npx -y 'a b'", cwd: " /srv ", env }), []);
    expect(checked.problems).toEqual([]);
    expect(checked.address).toEqual({
      kind: "stdio",
      command: "npx",
      args: ["-y", "a b"],
      env: { LEVEL: "info" },
      secretEnv: ["KEY"],
      cwd: "/srv",
    });
    expect(checked.secrets).toEqual({ KEY: "hush" });
    expect(JSON.stringify(checked.address), "a value of a secret never stands in an address").not.toContain("hush");
  });

  it("at an address has secret headers only", () => {
    const checked = validateDraft(
      draft({ kind: "http", url: " https://Host.example/mcp ", headers: [pair("Authorization", "Bearer hush", true)] }),
      [],
    );
    expect(checked.problems).toEqual([]);
    expect(checked.address).toEqual({
      kind: "http",
      url: "https://host.example/mcp",
      secretHeaders: ["Authorization"],
    });
  });

  it.each([
    ["no name", { name: " ", command: "x" }, ["name", "missing"]],
    ["a name with other letters", { name: "My Server", command: "x" }, ["name", "letters"]],
    ["no command", { command: " " }, ["command", "missing"]],
    ["an open quote", { command: "x 'y" }, ["command", "openQuote"]],
    ["an assignment", { command: "A=b x" }, ["command", "assignment"]],
    ["no scheme", { kind: "http", url: "host/mcp" }, ["url", "scheme"]],
    ["no host", { kind: "http", url: "https://" }, ["url", "broken"]],
    ["a password in the address", { kind: "http", url: "https://ann:hush@host/" }, ["url", "password"]],
    ["a value without a name", { command: "x", env: [pair("", "v")] }, ["pair", "name"]],
    ["a name that is none", { command: "x", env: [pair("A B", "v")] }, ["pair", "badName"]],
    ["a secret without a value", { command: "x", env: [pair("KEY", "", true)] }, ["pair", "value"]],
    ["a name twice", { command: "x", env: [pair("A", "1"), pair("A", "2", false, 2)] }, ["pair", "twice"]],
    [
      "a header of the protocol",
      { kind: "http", url: "https://h/", headers: [pair("Mcp-Session-Id", "v", true)] },
      ["pair", "reserved"],
    ],
    [
      "a header of two lines",
      { kind: "http", url: "https://h/", headers: [pair("X-A", "v\nB: c", true)] },
      ["pair", "lineBreak"],
    ],
  ] satisfies [string, Partial<Draft>, [string, string]][])(
    "with %s is held back at that field",
    (_, change, expected) => {
      expect(why(change)).toEqual([expected]);
    },
  );

  it("may not take the name of another", () => {
    expect(why({ command: "x" }, ["billing"])).toEqual([["name", "taken"]]);
  });

  it.each([
    [{ command: "npx -y @northwind/billing-mcp@2.4.1 --read-only" }, "billing"],
    [{ command: "npx -y @modelcontextprotocol/server-everything" }, "everything"],
    [{ command: "uvx mcp-server-git" }, "git"],
    [{ command: "/opt/Tools/My Server.py" }, "my"],
    [{ command: "python3 -m files" }, "files"],
    [{ kind: "http", url: "https://mcp.linear.app/sse" }, "linear"],
    [{ command: "" }, ""],
  ] satisfies [Partial<Draft>, string][])("%j suggests the name %s", (change, expected) => {
    expect(suggestName(draft(change))).toBe(expected);
  });
});
