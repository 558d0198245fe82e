/* The result viewer with every kind of part, and with what a hostile server sends. */
import type { Calls, PartDto } from "$lib/bindings";
import { story, type StoryFile } from "$lib/fake-core/story";
import ResultView from "./ResultView.svelte";

const part = (n: number, change: Partial<PartDto>): PartDto => ({
  n,
  kind: "text",
  mime: null,
  bytes: (change.preview ?? "").length,
  preview: "",
  cut: false,
  name: null,
  title: null,
  uri: null,
  description: null,
  ...change,
});
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC";
const SOUND = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";
const index = {
  files: 1_204,
  folders: 88,
  bytes: 12_345_678_901,
  words: 99_120,
  unreadable: 0,
  byExtension: [
    { extension: "rs", files: 300, bytes: 2_000_000 },
    { extension: "", files: 3, bytes: 12 },
  ],
  note: "One line.\nAnother line that is so long that it is shown whole under the tree when it is chosen.",
};
const long = "word ".repeat(20_000);
const deep = `${"[".repeat(3_000)}1${"]".repeat(3_000)}`;

const RESULT = { taskId: "hdl_story", of: "result" as const };
const show = (
  parts: PartDto[],
  more: Partial<Calls["tasks.content"][1]> = {},
  of: "result" | "arguments" | "error" = "result",
  click: string[] = [],
) =>
  story(
    ResultView,
    { taskId: "hdl_story", of, from: "ci-server" },
    {
      as: "piece",
      click,
      fake: {
        calls: {
          "tasks.content": () => ({
            bytes: parts.reduce((sum, one) => sum + one.bytes, 0),
            isError: false,
            parts,
            ...more,
          }),
          "tasks.piece": ({ offset, limit }) => ({
            text: "A line of a long report, numbered and dull.\n".repeat(500),
            next: offset + limit < 3_400_000 ? offset + limit : null,
            bytes: 3_400_000,
          }),
        },
      },
    },
  );

export default {
  title: "result",
  stories: {
    text: show([part(0, { preview: "Released v4.12.0 to 3 regions in 22 min.\n\nNothing was rolled back." })]),
    "text and structured": show([
      part(0, { preview: "`/srv`: 1,204 files in 88 folders." }),
      part(1, { kind: "structured", mime: "application/json", preview: JSON.stringify(index, null, 2) }),
    ]),
    tree: show(
      [
        part(0, {
          kind: "json",
          preview: JSON.stringify({ ...index, list: Array.from({ length: 450 }, (_, at) => at), "": { "a b": null } }),
        }),
      ],
      {},
      "result",
      ["[role=treeitem] >> nth=8"],
    ),
    "in pieces": show([
      part(0, { preview: "A line of a long report, numbered and dull.\n".repeat(90), cut: true, bytes: 3_400_000 }),
    ]),
    "in pieces, one more": show(
      [part(0, { preview: "A line of a long report, numbered and dull.\n".repeat(90), cut: true, bytes: 3_400_000 })],
      {},
      "result",
      [".more button"],
    ),
    "large JSON": show([
      part(0, { kind: "structured", preview: `{"rows": [${"1,".repeat(1_900)}`, cut: true, bytes: 3_400_000 }),
    ]),
    "picture, sound and files": show([
      part(0, { kind: "image", mime: "image/png", preview: PIXEL, bytes: 78, title: "Chart of the week" }),
      part(1, { kind: "audio", mime: "audio/wav", preview: SOUND, bytes: 52 }),
      part(2, { kind: "image", mime: "image/png", preview: "", cut: true, bytes: 4_000_000 }),
      part(3, { kind: "image", mime: "image/svg+xml", preview: "PHN2Zy8+", bytes: 8 }),
      part(4, {
        kind: "resource",
        mime: "text/x-rust",
        uri: "file:///srv/main.rs",
        name: "main.rs",
        preview: "fn main() {}\n",
        bytes: 13,
      }),
      part(5, { kind: "resource", mime: "application/zip", uri: "file:///srv/all.zip", preview: "UEsDBA==", bytes: 4 }),
      part(6, { kind: "audio", mime: "audio/wav", preview: "", bytes: 9_000_000, cut: true }),
    ]),
    "broken picture": show([part(0, { kind: "image", mime: "image/png", preview: "aGVsbG8=", bytes: 5 })]),
    links: show([
      part(0, {
        kind: "resourceLink",
        uri: "https://reports.northwind.example/2026/11/21?of=release",
        title: "The report",
        description: "With all numbers.",
      }),
      part(1, { kind: "resourceLink", uri: "http://good.example@xn--pple-43d.com/login", title: "A sly link" }),
      part(2, { kind: "resourceLink", uri: "memory://graph/12", name: "graph" }),
    ]),
    "link, asked": show(
      [part(0, { kind: "resourceLink", uri: "https://reports.northwind.example/2026", title: "The report" })],
      {},
      "result",
      [".link button >> nth=0"],
    ),
    "tool error": show([part(0, { preview: "The folder `/srv/nothing` does not exist." })], { isError: true }),
    "protocol error": show(
      [
        part(0, {
          kind: "json",
          preview: JSON.stringify({ code: -32603, message: "the database is locked", data: { retry: true, after: 3 } }),
        }),
      ],
      { isError: true },
      "error",
    ),
    arguments: show(
      [part(0, { kind: "json", mime: "application/json", preview: '{"version":"4.12.0","dryRun":false}' })],
      {},
      "arguments",
    ),
    hostile: show([
      part(0, {
        preview: `<script>alert(1)</script><img src=x onerror=alert(2)> \u202Egnp.exe\u001b[31m ${long}`,
        title: `<b>${"x".repeat(3_000)}</b>`,
        description: "\u202E<i>turned</i>",
      }),
      part(1, { kind: "structured", preview: deep }),
      part(2, {
        kind: "json",
        preview: JSON.stringify({
          [`<b>${"k".repeat(2_000)}`]: "<img src=x onerror=alert(3)>",
          "\u202Ekey": "x".repeat(50_000),
        }),
      }),
      part(3, { kind: "resourceLink", uri: "javascript:alert(4)", title: "click me" }),
      part(4, { kind: "unknown", preview: '{"type":"hologram"}' }),
    ]),
    "ten thousand parts": () => show(Array.from({ length: 10_000 }, (_, n) => part(n, { preview: `Part ${n + 1}` }))),
    empty: show([]),
    none: story(ResultView, RESULT, {
      as: "piece",
      fake: {
        calls: {
          "tasks.content": () => {
            throw { code: "notFound", message: "there is no result", hint: "" };
          },
        },
      },
    }),
    loading: story(ResultView, RESULT, { as: "piece", fake: { latencyMs: 3_600_000 } }),
    error: story(ResultView, RESULT, {
      as: "piece",
      fake: {
        calls: {
          "tasks.content": () => {
            throw { code: "failed", message: "the registry cannot be read", hint: "Run `taskwarden doctor`." };
          },
        },
      },
    }),
  },
} satisfies StoryFile;
