/* Made-up results of the demo, for stories and tests. */
import type { Calls, PartDto } from "$lib/bindings";

const PLAN = {
  sortedBy: "kind",
  wouldMove: 8,
  touched: 0,
  folders: [
    { folder: "Archives", count: 1, files: ["backup.zip"] },
    { folder: "Audio", count: 1, files: ["interview.mp3"] },
    { folder: "Documents", count: 3, files: ["invoice-2026-10.pdf", "notes.md", "numbers.csv"] },
    { folder: "Images", count: 3, files: ["holiday-01.jpg", "holiday-02.jpg", "screenshot.png"] },
  ],
};

export function part(n: number, kind: PartDto["kind"], preview: string): PartDto {
  const none = { mime: null, name: null, title: null, uri: null, description: null };
  return { n, kind, preview, cut: false, bytes: preview.length, ...none };
}

export function planParts(plan: unknown = PLAN): readonly PartDto[] {
  return [
    part(0, "text", "8 files would be moved into 4 folders. No file was touched."),
    part(1, "structured", JSON.stringify(plan)),
  ];
}

export function planContent(parts = planParts()): Calls["tasks.content"][1] {
  return { bytes: 400, isError: false, parts: [...parts] };
}
