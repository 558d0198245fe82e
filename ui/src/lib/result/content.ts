/* Asks for the parts of a payload. "There is none" is an answer, not a failure. */
import type { PartDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import type { Of } from "./paged-text.svelte";

/** Parts shown at once; the rest is asked for. A hostile result has ten thousand. */
export const PARTS_STEP = 20;

export type Content =
  | { readonly kind: "none" }
  | { readonly kind: "parts"; readonly bytes: number; readonly isError: boolean; readonly parts: readonly PartDto[] };

/** Rejects with an `ApiError`. */
export async function contentOf(backend: Backend, id: string, of: Of): Promise<Content> {
  try {
    const { bytes, isError, parts } = await backend.call("tasks.content", { id, of });
    return { kind: "parts", bytes, isError, parts };
  } catch (thrown) {
    const error = apiError(thrown);
    if (error.code === "notFound") return { kind: "none" };
    throw error;
  }
}

export interface ErrorShape {
  readonly code: string | null;
  readonly message: string;
  /** Whether it carries more than these two. */
  readonly hasMore: boolean;
}

/** The error object of the protocol, when a part is one. */
export function errorShape(part: PartDto): ErrorShape | null {
  if (part.cut) return null;
  try {
    const value: unknown = JSON.parse(part.preview);
    if (typeof value !== "object" || value === null || !("message" in value) || typeof value.message !== "string")
      return null;
    const code =
      "code" in value && (typeof value.code === "number" || typeof value.code === "string") ? String(value.code) : null;
    return {
      code,
      message: value.message,
      hasMore: Object.keys(value).some((key) => key !== "code" && key !== "message"),
    };
  } catch {
    return null;
  }
}
