/* Counts and the words they count, as every screen writes them: 1,204 · "1 task" · "3 tasks" · "a, b and c". */

/** Grouped by threes in every locale we ship. */
export function count(value: number): string {
  return value.toLocaleString("en-GB");
}

/** "1 task", "3 tasks"; `more` where the plural is not made with an s. */
export function plural(n: number, one: string, more = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : more}`;
}

export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}
