/* Which tasks are selected: some by name, or all that match. Pure. */
export type Choice = { readonly kind: "some"; readonly ids: ReadonlySet<string> } | { readonly kind: "all"; readonly but: ReadonlySet<string> };

export const NONE: Choice = { kind: "some", ids: new Set() };
export const ALL_MATCHING: Choice = { kind: "all", but: new Set() };

export function isChosen(choice: Choice, id: string): boolean {
  return choice.kind === "some" ? choice.ids.has(id) : !choice.but.has(id);
}

export function toggle(choice: Choice, id: string): Choice {
  const set = new Set(choice.kind === "some" ? choice.ids : choice.but);
  if (!set.delete(id)) set.add(id);
  return choice.kind === "some" ? { kind: "some", ids: set } : { kind: "all", but: set };
}

export function add(choice: Choice, ids: readonly string[]): Choice {
  if (choice.kind === "some") return { kind: "some", ids: new Set([...choice.ids, ...ids]) };
  return { kind: "all", but: new Set([...choice.but].filter((id) => !ids.includes(id))) };
}

export function size(choice: Choice, total: number): number {
  return choice.kind === "some" ? choice.ids.size : Math.max(0, total - choice.but.size);
}
