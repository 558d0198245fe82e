/* Which tasks are selected: some by name, or all that match. Taking one out of all leaves those that are known by
   name, because nothing else could be said to the core; the count on the screen follows. Pure. */
export type Selection = { readonly kind: "some"; readonly ids: ReadonlySet<string> } | { readonly kind: "all" };

export const NOTHING_SELECTED: Selection = { kind: "some", ids: new Set() };
export const ALL_MATCHING: Selection = { kind: "all" };

export function isSelected(selection: Selection, id: string): boolean {
  return selection.kind === "all" || selection.ids.has(id);
}

/** `loaded`: the ids that are known by name. */
export function toggleSelected(selection: Selection, id: string, loaded: () => readonly string[]): Selection {
  const set = new Set(selection.kind === "some" ? selection.ids : loaded());
  if (!set.delete(id)) set.add(id);
  return { kind: "some", ids: set };
}

export function addToSelection(selection: Selection, ids: readonly string[]): Selection {
  return selection.kind === "some" ? { kind: "some", ids: new Set([...selection.ids, ...ids]) } : selection;
}

export function selectionSize(selection: Selection, total: number): number {
  return selection.kind === "some" ? selection.ids.size : total;
}
