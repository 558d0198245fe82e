import { describe, expect, it } from "vitest";
import { least, percent, readTokens, roughly, share, shortTokens, shownParts, size, tokens } from "./tokens";

describe("tokens", () => {
  it.each([
    [163_208, "exact", "163,208"],
    [0, "exact", "0"],
    [0, "atMost", "0"],
    [118_204, "about", "≈ 118k"],
    [70_100, "atMost", "≤ 71k"],
    [1_841_000, "about", "≈ 1.84M"],
    [6_130, "about", "≈ 6.1k"],
    [900, "atMost", "≤ 900"],
    [999_999, "about", "≈ 1M"],
    [999_001, "atMost", "≤ 1M"],
    [9_999, "about", "≈ 10k"],
    [2_000_000_000, "about", "≈ 2G"],
  ] as const)("%i that are %s read %s", (value, exactness, text) => expect(tokens(value, exactness)).toBe(text));

  it("a bound is never shown below itself", () => {
    for (const value of [1, 999, 1_001, 9_949, 9_951, 99_501, 999_499, 1_234_567, 99_999_999]) {
      const shown = tokens(value, "atMost").replace("≤ ", "");
      const unit = { k: 1e3, M: 1e6, G: 1e9 }[shown.slice(-1)] ?? 1;
      expect(parseFloat(shown) * unit, String(value)).toBeGreaterThanOrEqual(value);
    }
  });

  it("stay short in cells, with their mark", () => {
    expect(shortTokens(61_402, "exact")).toBe("61k");
    expect(shortTokens(1_204, "about")).toBe("≈ 1.2k");
  });

  it("sizes of windows are written as people say them, and never rounded", () => {
    expect([200_000, 128_000, 1_000_000, 1_048_576, 131_072, 272_000].map(size)).toEqual([
      "200k",
      "128k",
      "1M",
      "1,048,576",
      "131,072",
      "272k",
    ]);
  });

  it("a sum is as exact as its least exact part", () => {
    expect(least(["exact", "about"])).toBe("about");
    expect(least(["atMost", "about", "exact"])).toBe("atMost");
    expect(least([])).toBe("exact");
  });

  it("the gateway's own tools are tool definitions", () => {
    const parts = shownParts([
      { source: "tools", tokens: 100, exactness: "exact", passed: 100 },
      { source: "ownTools", tokens: 11, exactness: "about", passed: 11 },
    ]);
    expect(parts.map((part) => [part.source, part.tokens])).toEqual([
      ["tools", 111],
      ["arguments", 0],
      ["results", 0],
      ["handles", 0],
      ["prompts", 0],
    ]);
    expect(parts[0]?.exactness).toBe("about");
  });

  it.each([
    ["20000", 20_000],
    ["20,000", 20_000],
    ["20 000", 20_000],
    ["20k", 20_000],
    ["1.5M", 1_500_000],
    [" 8 k ", 8_000],
    ["1", 1],
  ])("%j is a number", (typed, value) => expect(readTokens(typed)).toBe(value));
  it.each(["", "0", "-5", "20,00", "1e5", "many", "1.5", "20kk", "99999999999", "1,0000"])("%j is none", (typed) =>
    expect(readTokens(typed)).toBeNull(),
  );

  it("shares are of something", () => {
    expect(share(12_018, 200_000, "exact")).toBe("6.0 %");
    expect(share(1, 0, "exact")).toBe("");
    expect(share(0, 10, "atMost"), "nothing is nothing, however it is counted").toBe("0.0 %");
  });

  it("shares bear the mark of what they are shares of, and bounds stay bounds", () => {
    expect(share(12_018, 200_000, "about")).toBe("≈ 6.0 %");
    expect(share(12_018, 200_000, "atMost")).toBe("≤ 6.1 %");
    expect(share(12_000, 200_000, "atMost"), "what is even stays so").toBe("≤ 6.0 %");
    expect([
      percent(143_800, 200_000, "atMost"),
      percent(143_800, 200_000, "about"),
      percent(199_999, 200_000, "exact"),
    ]).toEqual(["≤ 72 %", "≈ 71 %", "99 %"]);
    expect(
      ["exact", "about", "atMost"].map((one) => roughly(one as "exact")),
      "what is left beside a bound is no bound",
    ).toEqual(["exact", "about", "about"]);
  });
});
