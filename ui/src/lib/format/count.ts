/* Counts and the words they count, as every screen writes them: 1,204 · "1 task" · "3 tasks" · "a, b and c". */

/** Grouped by threes in every locale we ship. */
export function count(value: number): string {
  return value.toLocaleString("en-GB");
}

/** "1 task", "3 tasks", "≤ 1 token"; `more` where the plural is not made with an s. A figure that is already written keeps
    its mark. */
export function plural(n: number | string, one: string, more = `${one}s`): string {
  return `${typeof n === "number" ? count(n) : n} ${isOne(n) ? one : more}`;
}

/** Whether a number, or a figure with its mark, stands before a word in the singular. */
const isOne = (n: number | string): boolean => (typeof n === "number" ? n === 1 : /^(?:[≈≤]\s)?1$/.test(n));

export function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;
}
