/* The one way to the core. What it is for: calls by name and one feed of frames, whatever carries them.
   It holds no state and knows no screen. See window.ts, browser.ts, and fake-core/backend.ts (stories, tests). */
import type { ApiError, Calls, Frame, SubscribeInput } from "$lib/bindings";
import { ERRORS } from "$lib/text/app";

export type CallName = keyof Calls;

export interface FeedHandlers {
  frame(frame: Frame): void;
  /** The feed is alive and has nothing to say. */
  alive(): void;
  /** The shell asks for a place (`#/inbox/…`): a notification, a link or the tray was used. */
  open(hash: string): void;
  /** The feed is over; nothing follows. */
  end(why: ApiError): void;
}

export interface Backend {
  readonly kind: "window" | "browser" | "fake";
  /** Rejects with an `ApiError` and with nothing else. An aborted call may have been made; the window cannot abort. */
  call<N extends CallName>(name: N, input: Calls[N][0], signal?: AbortSignal): Promise<Calls[N][1]>;
  subscribe(input: SubscribeInput, on: FeedHandlers): () => void;
  /** Opens an http or https address in the system's browser. */
  openOutside(url: string): Promise<void>;
  /** Null where the page cannot end the program. */
  quit(): Promise<void> | null;
}

/** Whatever was thrown, as the error people can read. */
export function apiError(thrown: unknown): ApiError {
  if (isApiError(thrown)) return thrown;
  if (typeof thrown === "string") {
    const parsed = parse(thrown);
    if (isApiError(parsed)) return parsed;
  }
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return {
    code: "failed",
    message: message || ERRORS.failed.message,
    hint: ERRORS.failed.hint,
  };
}

export function isApiError(value: unknown): value is ApiError {
  return (
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    "message" in value &&
    typeof value.message === "string"
  );
}

/** JSON or undefined: a core of another version must not break the page. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A frame of the feed, the shell's own kind included. */
export type Carried = Frame | { type: "open"; hash: string };

export function isCarried(value: unknown): value is Carried {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** Hands one carried frame to whom it belongs. */
export function deliver(value: unknown, on: FeedHandlers): void {
  if (!isCarried(value)) return;
  if (value.type === "open") on.open(value.hash);
  else on.frame(value);
}

/** The core cannot be reached. */
export const noCore: ApiError = { code: "noCore", ...ERRORS.noCore };

/** Only addresses a browser opens; anything else from a server is refused here already. */
export function isWebAddress(url: string): boolean {
  try {
    const { protocol } = new URL(url);
    return protocol === "http:" || protocol === "https:";
  } catch {
    return false;
  }
}
