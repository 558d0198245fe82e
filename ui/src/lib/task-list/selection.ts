/* Which tasks are selected: some by name, or all that match. Taking one out of all leaves those that are known by
   name, because nothing else could be said to the core; the count on the screen follows. Pure. */
export type Choice = { readonly kind: "some"; readonly ids: ReadonlySet<string> } | { readonly kind: "all" };

export const NONE: Choice = { kind: "some", ids: new Set() };
export const ALL_MATCHING: Choice = { kind: "all" };

export function isChosen(choice: Choice, id: string): boolean {
  return choice.kind === "all" || choice.ids.has(id);
}

/** `loaded`: the ids that are known by name. */
export function toggle(choice: Choice, id: string, loaded: () => readonly string[]): Choice {
  const set = new Set(choice.kind === "some" ? choice.ids : loaded());
  if (!set.delete(id)) set.add(id);
  return { kind: "some", ids: set };
}

export function add(choice: Choice, ids: readonly string[]): Choice {
  return choice.kind === "some" ? { kind: "some", ids: new Set([...choice.ids, ...ids]) } : choice;
}

export function size(choice: Choice, total: number): number {
  return choice.kind === "some" ? choice.ids.size : total;
}
