/* Chance that is the same in every run, so that stories and measurements can be repeated. */
export type Chance = () => number;

/** mulberry32: small, fast, good enough for made-up data. */
export function chance(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(from: readonly T[], roll: number): T {
  const found = from[Math.floor(roll * from.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
