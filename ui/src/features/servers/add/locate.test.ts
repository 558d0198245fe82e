import { describe, expect, it } from "vitest";
import type { AddressDto } from "$lib/bindings";
import { toLocate, withProgram } from "./locate";

const typed: AddressDto = { kind: "stdio", command: "npx", args: ["-y", "x"], env: {}, secretEnv: [], cwd: null };

describe("the program behind a typed command", () => {
  it("is asked for by its name and never where the path is whole", () => {
    expect(toLocate(typed)).toEqual({ command: "npx", cwd: null });
    expect(toLocate({ ...typed, command: "/usr/bin/npx" })).toBeNull();
    expect(toLocate({ kind: "http", url: "https://example.org/", secretHeaders: [] })).toBeNull();
    expect(toLocate(null)).toBeNull();
  });

  it("takes the place of the name it was found for, and of no other", () => {
    expect(withProgram(typed, { command: "npx", cwd: null, program: "/usr/bin/npx" })).toEqual({
      ...typed,
      command: "/usr/bin/npx",
    });
    expect(
      withProgram({ ...typed, command: "uvx" }, { command: "npx", cwd: null, program: "/usr/bin/npx" }),
    ).toMatchObject({ command: "uvx" });
    expect(
      withProgram({ ...typed, cwd: "/srv" }, { command: "npx", cwd: null, program: "/usr/bin/npx" }),
    ).toMatchObject({ command: "npx" });
    expect(withProgram(typed, { command: "npx", cwd: null, program: null })).toBe(typed);
  });
});
