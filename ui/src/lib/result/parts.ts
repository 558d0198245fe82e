/* What a part of a result is shown as, and what may be done with it. Pure. Foreign types are only believed where a
   wrong one does no harm: everything else is text. */
import type { IconName } from "$lib/design/text/icons";
import type { PartDto } from "$lib/bindings";
import { bytes } from "$lib/format/bytes";
import { resultText as text } from "$lib/text/result";

export type Shape = "text" | "tree" | "image" | "audio" | "link" | "file";

/** Pictures a browser draws without running anything. SVG is shown as the text it is. */
const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const AUDIO = /^audio\/[a-z0-9.+-]{1,60}$/;
const JSON_TYPE = /^(?:application|text)\/(?:[a-z0-9.+-]*\+)?json$/;

export function shapeOf(part: PartDto): Shape {
  const mime = bareMime(part.mime);
  switch (part.kind) {
    case "text":
      return looksLikeJson(part) ? "tree" : "text";
    case "structured":
    case "json":
    case "unknown":
      return "tree";
    case "image":
      return IMAGES.has(mime) ? "image" : "file";
    case "audio":
      return AUDIO.test(mime) ? "audio" : "file";
    case "resourceLink":
      return "link";
    case "resource":
      if (isBinary(part)) return IMAGES.has(mime) ? "image" : AUDIO.test(mime) ? "audio" : "file";
      return JSON_TYPE.test(mime) ? "tree" : "text";
    default:
      return part.kind satisfies never;
  }
}

/** Base64 is longer than what it stands for, so the sizes tell a file from a text. */
function isBinary(part: PartDto): boolean {
  if (part.preview === "") return part.cut;
  return !part.cut && new TextEncoder().encode(part.preview).length !== part.bytes;
}

/** Only whole ones that open like an object or a list: a quoted word is shown better as text. */
function looksLikeJson(part: PartDto): boolean {
  if (JSON_TYPE.test(bareMime(part.mime))) return true;
  const head = part.preview.trimStart().charAt(0);
  if (part.cut || (head !== "{" && head !== "[")) return false;
  try {
    JSON.parse(part.preview);
    return true;
  } catch {
    return false;
  }
}

export function bareMime(mime: string | null): string {
  return (mime ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

const KIND_ICONS: Readonly<Record<PartDto["kind"], IconName>> = {
  text: "file",
  structured: "form",
  json: "form",
  unknown: "question",
  image: "eye",
  audio: "bell",
  resource: "file",
  resourceLink: "link",
};

export function partIcon(part: PartDto): IconName {
  return KIND_ICONS[part.kind];
}

/** "Text", "Picture", …; the server's own title follows it as text. */
export function partWord(part: PartDto): string {
  return text.kinds[part.kind];
}

/** The size of what a link leads to is not known. */
export function partSize(part: PartDto): string {
  return [bareMime(part.mime), part.bytes > 0 ? bytes(part.bytes) : ""].filter((word) => word !== "").join(", ");
}

/** Null when the picture was too large to send. */
export function dataUrl(part: PartDto): string | null {
  if (part.cut || part.preview === "" || !/^[A-Za-z0-9+/=\s]+$/.test(part.preview)) return null;
  return `data:${bareMime(part.mime)};base64,${part.preview.replace(/\s+/g, "")}`;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/avif": "avif",
  "image/bmp": "bmp",
  "image/svg+xml": "svg",
  "audio/wav": "wav",
  "audio/mpeg": "mp3",
  "audio/ogg": "ogg",
  "text/html": "html.txt",
  "text/markdown": "md",
  "text/csv": "csv",
  "application/xml": "xml",
};

/** A name of our own making with at most a hint of theirs: no path, no leading dot, no double meaning. */
export function fileName(taskId: string, part: PartDto | null): string {
  const base = part?.name ?? part?.title ?? `${taskId}${part === null ? "" : `-${part.n + 1}`}`;
  const safe = base
    .normalize("NFKC")
    .replace(/[^A-Za-z0-9._ -]+/g, "-")
    .replace(/^[.\s-]+|[.\s-]+$/g, "")
    .slice(0, 80);
  const stem = safe === "" ? "result" : safe;
  const extension = part === null ? "json" : extensionOf(part);
  return stem.toLowerCase().endsWith(`.${extension}`) ? stem : `${stem}.${extension}`;
}

function extensionOf(part: PartDto): string {
  const shape = shapeOf(part);
  if (shape === "tree") return "json";
  return EXTENSIONS[bareMime(part.mime)] ?? (shape === "text" ? "txt" : "bin");
}

/** The base64 of one block in a whole result; for pictures and sounds that are too large to be sent as a part. */
export function mediaIn(result: string, n: number): string | null {
  try {
    const value: unknown = JSON.parse(result);
    const block = at(at(value, "content"), n);
    const data = at(block, "data") ?? at(at(block, "resource"), "blob");
    return typeof data === "string" ? data : null;
  } catch {
    return null;
  }
}

function at(value: unknown, key: string | number): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string | number, unknown>)[key]
    : undefined;
}
