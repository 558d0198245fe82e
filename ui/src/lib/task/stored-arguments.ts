/* The stored arguments of a call, for a form that starts it again or a command for a terminal. */
import type { Backend } from "$lib/backend/backend";
import { isObject, readJson, type JsonObject } from "$lib/form";
import { readWhole } from "$lib/result/paged-text.svelte";

/** Larger arguments are not put into a form or a command (judgement: a shell takes 128 KiB for one word). */
const ARGUMENTS_CAP_BYTES = 100_000;

/** The stored arguments as JSON text; null when they are gone or too large. */
export async function storedArguments(backend: Backend, id: string): Promise<string | null> {
  const pieces = await readWhole({ backend, id, of: "arguments", part: null }, ARGUMENTS_CAP_BYTES, () => true);
  const text = pieces?.join("").trim() ?? "";
  return text === "" ? null : text;
}

/** Arguments for a form; null when a form would change them: no object, or a number that JavaScript cannot hold. */
export function formArguments(text: string): JsonObject | null {
  const read = readJson(text);
  if (!read.ok || !isObject(read.value)) return null;
  return /[-\s[:,]\d{16,}/.test(withoutTexts(text)) ? null : (read.value as JsonObject);
}

/** JSON with its texts emptied, so that digits in them are not taken for numbers. */
const withoutTexts = (text: string) => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
