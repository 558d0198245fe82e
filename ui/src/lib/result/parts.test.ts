import { describe, expect, it } from "vitest";
import type { PartDto } from "$lib/bindings";
import { dataUrl, fileName, shapeOf } from "./parts";

const part = (change: Partial<PartDto>): PartDto => ({ n: 0, kind: "text", mime: null, bytes: 4, preview: "", cut: false, name: null, title: null, uri: null, description: null, ...change });

describe("a part of a result", () => {
  it.each([
    [{ kind: "text", preview: "plain" }, "text"],
    [{ kind: "text", preview: '{"a":1}' }, "tree"],
    [{ kind: "text", preview: '{"a":1' }, "text"],
    [{ kind: "text", preview: '{"a":1', cut: true }, "text"],
    [{ kind: "text", preview: '"word"' }, "text"],
    [{ kind: "structured" }, "tree"],
    [{ kind: "unknown" }, "tree"],
    [{ kind: "image", mime: "image/PNG" }, "image"],
    [{ kind: "image", mime: "image/svg+xml" }, "file"],
    [{ kind: "image", mime: "text/html" }, "file"],
    [{ kind: "audio", mime: "audio/wav" }, "audio"],
    [{ kind: "audio", mime: "audio/x\"onerror" }, "file"],
    [{ kind: "resourceLink", uri: "https://x" }, "link"],
    [{ kind: "resource", mime: "text/html", preview: "<b>" }, "text"],
    [{ kind: "resource", mime: "application/json" }, "tree"],
    [{ kind: "resource", mime: "application/zip" }, "file"],
  ] satisfies [Partial<PartDto>, string][])("%j is shown as %s", (change, shape) => {
    expect(shapeOf(part(change))).toBe(shape);
  });

  it("is a picture only when its data is base64 and whole", () => {
    expect(dataUrl(part({ kind: "image", mime: "image/png; x=y", preview: "aGk=" }))).toBe("data:image/png;base64,aGk=");
    expect(dataUrl(part({ kind: "image", mime: "image/png", preview: '"><script>' }))).toBeNull();
    expect(dataUrl(part({ kind: "image", mime: "image/png", preview: "aGk=", cut: true }))).toBeNull();
  });

  it("is saved under a name that no server can turn into a path", () => {
    expect(fileName("hdl_x", part({ n: 1 }))).toBe("hdl_x-2.txt");
    expect(fileName("hdl_x", null)).toBe("hdl_x.json");
    expect(fileName("hdl_x", part({ name: "../../.bashrc" }))).toBe("bashrc.txt");
    expect(fileName("hdl_x", part({ name: "\u202egnp.exe", kind: "image", mime: "image/png" }))).toBe("gnp.exe.png");
    expect(fileName("hdl_x", part({ name: "…", kind: "resource", mime: "text/html", preview: "x" }))).toMatch(/^(?:result|[.-]*)?.*\.html\.txt$/);
    expect(fileName("hdl_x", part({ title: "report.md", mime: "text/markdown" }))).toBe("report.md");
  });
});
