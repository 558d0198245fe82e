/* Rows of names with values: add, change, drop. Pure; a row keeps its id for life. */
import { isSecretName, isSecretValue } from "$lib/consent/secret-guess";
import type { Pair } from "./server-draft";

/** Rows at most; more was pasted by mistake. */
export const PAIRS_MAX = 100;

function nextId(pairs: readonly Pair[]): number {
  return pairs.reduce((most, pair) => Math.max(most, pair.id), 0) + 1;
}

export function added(pairs: readonly Pair[], secret: boolean): readonly Pair[] {
  return pairs.length >= PAIRS_MAX ? pairs : [...pairs, { id: nextId(pairs), name: "", value: "", secret }];
}

export function changed(
  pairs: readonly Pair[],
  id: number,
  change: Partial<Pick<Pair, "name" | "value">>,
): readonly Pair[] {
  // Under another name nothing is stored yet.
  const renamed = change.name === undefined ? {} : { stored: false };
  return pairs.map((pair) => (pair.id === id ? { ...pair, ...change, ...renamed } : pair));
}

export function dropped(pairs: readonly Pair[], id: number): readonly Pair[] {
  return pairs.filter((pair) => pair.id !== id);
}

/** Sets a name; what looks like a secret becomes one. */
export function withPair(pairs: readonly Pair[], name: string, value: string): readonly Pair[] {
  const secret = isSecretName(name) || isSecretValue(value);
  return [...pairs.filter((pair) => pair.name.trim() !== name), { id: nextId(pairs), name, value, secret }];
}

export function moveToSecrets(pairs: readonly Pair[], names: readonly string[]): readonly Pair[] {
  return pairs.map((pair) => (names.includes(pair.name.trim()) ? { ...pair, secret: true } : pair));
}
