/* A pause for stories and tests. */
import type { PauseDto } from "$lib/bindings";

export function aPause(change: Partial<PauseDto> = {}): PauseDto {
  return {
    id: "pau_1",
    agent: null,
    server: null,
    since: "2026-11-21T14:12:00.000Z",
    by: "mara",
    reason: "",
    holdsResults: false,
    waiting: 0,
    mustChoose: false,
    processes: null,
    ...change,
  };
}
