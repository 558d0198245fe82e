/* Cuts a text where a word of the glossary first stands in it. Only whole words count. Pure. */

interface Part {
  readonly text: string;
  /** Of the glossary; null for what needs no explanation. */
  readonly word: string | null;
}

export function explainedParts(text: string, words: Readonly<Record<string, string>>): readonly Part[] {
  const found = Object.entries(words)
    .map(([shown, word]) => ({ shown, word, at: wholeWordAt(text, shown) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at);
  const parts: Part[] = [];
  let from = 0;
  for (const { shown, word, at } of found) {
    if (at < from) continue;
    if (at > from) parts.push({ text: text.slice(from, at), word: null });
    parts.push({ text: shown, word });
    from = at + shown.length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), word: null });
  return parts;
}

/** Where it begins; -1 where it is not in the text, or only inside of another word. */
function wholeWordAt(text: string, word: string): number {
  const isLetter = (at: number) => /[\p{L}\p{N}]/u.test(text.charAt(at));
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isLetter(at - 1) && !isLetter(at + word.length)) return at;
  }
  return -1;
}
