import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DOC_PAGES } from "$lib/text/help/help";
import { isDocPage, loadPage, pageOfLink, type DocPage } from "./doc-pages";
import { blocks, spans } from "./doc-text";

const PAGES = Object.keys(DOC_PAGES) as DocPage[];

describe("the documentation in the app", () => {
  it("shows every page whole: no word of a file is lost", () => {
    const words = (text: string) => text.match(/[\p{L}\p{N}]+/gu) ?? [];
    for (const page of PAGES) {
      const file = readFileSync(new URL(`../../../../src-tauri/docs/${page}.md`, import.meta.url), "utf8");
      const shown = blocks(file).flatMap((block) => {
        if (block.kind === "list") return block.items;
        if (block.kind === "table") return [...block.head, ...block.rows.flat()];
        return [block.text];
      });
      const text = file.replace(/<!--[^]*?-->/g, "").replace(/\]\([^)]*\)/g, "]");
      const said = shown.flatMap((one) => (one.includes("](") ? spans(one).map((span) => span.text) : [one])).join(" ");
      expect(words(said), page).toEqual(words(text.replace(/^```\w*$/gm, "")));
    }
  });

  it("opens what a link names when it is here, and nothing else", () => {
    expect(pageOfLink("notifications.md#if-nothing-appears")).toBe("notifications");
    expect(pageOfLink("../decisions/0001-x.md")).toBeNull();
    expect(pageOfLink("https://example.com")).toBeNull();
    expect(isDocPage("constructor"), "no name of every object is a page").toBe(false);
  });

  it("loads a page only when it is opened", async () => {
    await expect(loadPage("security")).resolves.toContain("# Security");
  });

  it("reads emphasis, code and links, and leaves the rest as text", () => {
    expect(spans("Run `a | b` *now*, see [N](n.md). 2 * 3").map((span) => [span.kind, span.text])).toEqual([
      ["text", "Run "],
      ["code", "a | b"],
      ["text", " "],
      ["em", "now"],
      ["text", ", see "],
      ["link", "N"],
      ["text", ". 2 * 3"],
    ]);
  });
});
