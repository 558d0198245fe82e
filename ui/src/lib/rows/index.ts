/* Long lists of tasks: what is loaded, what is shown while it changes, what is selected. All of it pure. */
export { add, ALL_MATCHING, isChosen, NONE, size, toggle, type Choice } from "./choice";
export {
  countOf,
  hasPage,
  listing,
  NOTHING,
  PAGE,
  pagesOf,
  standing,
  withPage,
  type Listing,
  type LoadedPage,
  type PageName,
} from "./listing";
export { getKeptLists, KeptLists, type KeptList } from "./kept-lists";
export { newer } from "./newer";
export { numberOf, placeAt, rowCount, type Place } from "./place";
export { EMPTY, idShown, plainly, update, type Anchor, type Shown, type ShownSection } from "./shown";
