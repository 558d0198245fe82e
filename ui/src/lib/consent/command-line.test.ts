import { describe, expect, it } from "vitest";
import { COMMAND_CAP_CHARS, joinCommand, splitCommand, withoutFirstWord } from "./command-line";

describe("a command line", () => {
  it.each([
    ["npx -y @northwind/billing-mcp@2.4.1 --read-only", ["npx", "-y", "@northwind/billing-mcp@2.4.1", "--read-only"]],
    ["  node   server.js\t--x ", ["node", "server.js", "--x"]],
    [`sh -c 'echo "hi"; ls'`, ["sh", "-c", 'echo "hi"; ls']],
    [`a "b \\"c\\" \\n" d`, ["a", 'b "c" \\n', "d"]],
    [`a pre'fix 'x`, ["a", "prefix x"]],
    [`a '' ""`, ["a", "", ""]],
    ["my\\ program x", ["my program", "x"]],
    ["", []],
    ["server\n", ["server"]],
  ])("%j is split as a shell would", (text, words) => {
    const line = splitCommand(text);
    expect(line.fault, "nothing is wrong with it").toBeNull();
    expect(line.words).toEqual(words);
  });

  it("names the place of a quote that never ends", () => {
    expect(splitCommand(`node "a b`).fault).toEqual({ kind: "openQuote", at: 5, quote: '"' });
    expect(splitCommand(`node 'a`).fault).toEqual({ kind: "openQuote", at: 5, quote: "'" });
    expect(splitCommand("node \\").fault).toEqual({ kind: "openEscape", at: 5 });
  });

  it("names a second line and a line that is too long", () => {
    expect(splitCommand("node a\nrm b").fault).toEqual({ kind: "lineBreak", at: 6 });
    expect(splitCommand("x".repeat(COMMAND_CAP_CHARS + 1)).fault?.kind).toBe("tooLong");
  });

  it("tells what a shell would have acted on, unless it is quoted", () => {
    expect(splitCommand("a | b > c").signs.map((one) => one.sign)).toEqual(["|", ">"]);
    expect(splitCommand(`a '|' "$x"`).signs, "quoted text is meant").toEqual([]);
  });

  it("does not take an assignment for the program", () => {
    expect(splitCommand("TOKEN='a b' npx x").fault).toEqual({ kind: "assignment", at: 0, name: "TOKEN", value: "a b" });
    expect(withoutFirstWord("TOKEN='a b' npx x")).toBe("npx x");
    expect(splitCommand("npx A=b").fault, "only before the program").toBeNull();
  });

  it("is written so that it splits into the same words", () => {
    const words = ["npx", "", "it's", "a b", "$HOME", 'say "x"', "back\\slash"];
    expect(splitCommand(joinCommand(words)).words).toEqual(words);
  });
});
