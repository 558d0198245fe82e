import { describe, expect, it } from "vitest";
import type { ServerDto, ToolDto } from "$lib/bindings";
import { makeServer } from "$lib/fake-core/entities";
import { serversFor, toolsFor } from "./choices";
import { readLimit } from "./time-limit";
import { placeOf } from "./refusal";

describe("a time limit", () => {
  it.each([
    ["", { kind: "none" }],
    ["20", { kind: "ms", ms: 1_200_000 }],
    ["20 min", { kind: "ms", ms: 1_200_000 }],
    ["1 h 30 min", { kind: "ms", ms: 5_400_000 }],
    ["1h30m", { kind: "ms", ms: 5_400_000 }],
    ["1.5 h", { kind: "ms", ms: 5_400_000 }],
    ["90 s", { kind: "ms", ms: 90_000 }],
    ["2 days", { kind: "ms", ms: 172_800_000 }],
    ["0", { kind: "short" }],
    ["900 d", { kind: "long" }],
    ["soon", { kind: "bad" }],
    ["20 parsecs", { kind: "bad" }],
    ["-5 min", { kind: "bad" }],
    ["1e9 min", { kind: "bad" }],
  ])("written %j is read as %j", (typed, limit) => {
    expect(readLimit(typed)).toEqual(limit);
  });
});

describe("a refused start", () => {
  it("is shown at the argument it names", () => {
    expect(placeOf("argument `/path`: is required and missing")).toEqual({
      field: "path",
      deeper: "",
      why: "is required and missing",
    });
    expect(placeOf("argument `/a~1b/0/c`: must be a number")).toEqual({
      field: "a/b",
      deeper: "/0/c",
      why: "must be a number",
    });
  });

  it("is shown above the form when it names none", () => {
    expect(placeOf("the server is not connected: it ended")).toBeNull();
    expect(placeOf("argument `/`: must be an object")).toBeNull();
  });
});

describe("what can be chosen", () => {
  const server = (name: string, kind: ServerDto["health"]["kind"]): ServerDto => ({
    ...makeServer(name, 0, 0),
    agreed: true,
    health: { kind, since: null, why: null, hint: null, retryAt: null },
  });
  const tool = (name: string, description: string): ToolDto => ({
    name,
    title: null,
    description,
    taskSupport: "optional",
    destructive: null,
    readOnly: null,
    inputSchema: {},
    callsDay: 0,
  });

  it("has the servers first that can start something", () => {
    expect(serversFor([server("a", "down"), server("c", "up"), server("b", "up")], "").map((one) => one.name)).toEqual([
      "b",
      "c",
      "a",
    ]);
    expect(serversFor([server("ci", "up"), server("docs", "up")], "DO").map((one) => one.name)).toEqual(["docs"]);
  });

  it("has tools by name before tools by description", () => {
    const tools = [tool("hash", "reads a folder"), tool("index_folder", "counts words")];
    expect(toolsFor(tools, "folder").map((one) => one.name)).toEqual(["index_folder", "hash"]);
    expect(toolsFor(tools, "nothing")).toEqual([]);
  });

  it("has of several tools with one name the one that a call reaches", () => {
    const second = { ...tool("hash", "another"), notOffered: { why: "duplicate" as const, escapedName: "hash" } };
    expect(toolsFor([tool("hash", "reads a folder"), second], "").map((one) => one.description)).toEqual([
      "reads a folder",
    ]);
  });
});
