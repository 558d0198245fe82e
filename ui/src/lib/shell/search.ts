/* Finding a command by a few letters. Pure. Every word typed must begin a word of the text, or stand somewhere in it;
   beginnings count more, and the order of the list breaks ties. */
export interface Ranked<T> {
  readonly item: T;
  readonly score: number;
}

export function search<T>(items: readonly T[], typed: string, text: (item: T) => string): T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...items];
  const ranked: Ranked<T>[] = [];
  for (const item of items) {
    const score = rank(text(item).toLowerCase(), words);
    if (score > 0) ranked.push({ item, score });
  }
  return ranked.sort((one, other) => other.score - one.score).map(({ item }) => item);
}

/** 0 when a word is missing. */
export function rank(text: string, words: readonly string[]): number {
  let score = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return 0;
    const begins = at === 0 || new RegExp(`(^|[^\\p{L}\\p{N}])${escaped(word)}`, "u").test(text);
    score += begins ? (at === 0 ? 4 : 3) : 1;
  }
  return score;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
