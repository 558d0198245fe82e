/* Filtering a list by what a person types: every word must occur somewhere in the item. It ranks nothing; the palette's
   ranked search is shell/search.ts. Pure. */

/** The test for one item's text; nothing typed matches everything. */
export function textMatcher(typed: string): (text: string) => boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}
