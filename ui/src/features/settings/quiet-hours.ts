/* Quiet hours and pauses as values. Pure. */
export const QUIET_FIRST = { from: "22:00", to: "07:00" } as const;

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/;

export type QuietFault = "missing" | "same";

/** Null when the two times can be stored. */
export function quietFault(from: string, to: string): QuietFault | null {
  if (!TIME.test(from) || !TIME.test(to)) return "missing";
  return from === to ? "same" : null;
}

const HOUR_MS = 3_600_000;

export function hourFrom(now: number): string {
  return new Date(now + HOUR_MS).toISOString();
}

/** Eight in the morning, local time, of the next day. */
export function tomorrowMorning(now: number): string {
  const at = new Date(now);
  return new Date(at.getFullYear(), at.getMonth(), at.getDate() + 1, 8).toISOString();
}
