import { describe, expect, it } from "vitest";
import type { PartDto } from "$lib/bindings";
import { dataUrl, fileName, mediaIn, partSize, shapeOf } from "./parts";

const part = (change: Partial<PartDto>): PartDto => ({
  n: 0,
  kind: "text",
  mime: null,
  bytes: 4,
  preview: "",
  cut: false,
  name: null,
  title: null,
  uri: null,
  description: null,
  ...change,
});

describe("a part of a result", () => {
  it("has no size where none is known", () => {
    expect(partSize(part({ kind: "audio", mime: "audio/wav", bytes: 0 }))).toBe("audio/wav");
    expect(partSize(part({ mime: "text/plain" }))).toBe("text/plain, 4 B");
  });

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
    [{ kind: "audio", mime: 'audio/x"onerror' }, "file"],
    [{ kind: "resourceLink", uri: "https://x" }, "link"],
    [{ kind: "resource", mime: "text/html", preview: "<b>", bytes: 3 }, "text"],
    [{ kind: "resource", mime: "application/json", preview: "{}", bytes: 2 }, "tree"],
    [{ kind: "resource", mime: "application/zip", preview: "UEsDBA==", bytes: 4 }, "file"],
    [{ kind: "resource", mime: "application/zip", preview: "", cut: true, bytes: 4_000_000 }, "file"],
    [{ kind: "resource", mime: "image/png", preview: "aGk=", bytes: 2 }, "image"],
    [{ kind: "resource", mime: "image/svg+xml", preview: "PHN2Zy8+", bytes: 6 }, "file"],
  ] satisfies [Partial<PartDto>, string][])("%j is shown as %s", (change, shape) => {
    expect(shapeOf(part(change))).toBe(shape);
  });

  it("is a picture only when its data is base64 and whole", () => {
    expect(dataUrl(part({ kind: "image", mime: "image/png; x=y", preview: "aGk=" }))).toBe(
      "data:image/png;base64,aGk=",
    );
    expect(dataUrl(part({ kind: "image", mime: "image/png", preview: '"><script>' }))).toBeNull();
    expect(dataUrl(part({ kind: "image", mime: "image/png", preview: "aGk=", cut: true }))).toBeNull();
  });

  it("is found in the whole result when it was too large to be sent alone", () => {
    const result = JSON.stringify({
      content: [
        { type: "text", text: "x" },
        { type: "image", data: "aGk=" },
        { type: "resource", resource: { blob: "eg==" } },
      ],
    });
    expect([0, 1, 2, 3].map((n) => mediaIn(result, n))).toEqual([null, "aGk=", "eg==", null]);
    expect(mediaIn("no json", 0)).toBeNull();
  });

  it("is saved under a name that no server can turn into a path", () => {
    expect(fileName("hdl_x", part({ n: 1 }))).toBe("hdl_x-2.txt");
    expect(fileName("hdl_x", null)).toBe("hdl_x.json");
    expect(fileName("hdl_x", part({ name: "../../.bashrc" }))).toBe("bashrc.txt");
    expect(fileName("hdl_x", part({ name: "\u202egnp.exe", kind: "image", mime: "image/png" }))).toBe("gnp.exe.png");
    expect(fileName("hdl_x", part({ name: "…", kind: "resource", mime: "text/html", preview: "x", bytes: 1 }))).toMatch(
      /^(?:result|[.-]*)?.*\.html\.txt$/,
    );
    expect(fileName("hdl_x", part({ title: "report.md", mime: "text/markdown" }))).toBe("report.md");
  });
});
