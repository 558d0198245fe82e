/* Long lists of tasks: what is loaded, what is shown while it changes, what is selected. All of it pure. */
export { add, ALL_MATCHING, isChosen, NONE, size, toggle, type Choice } from "./selection";
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
} from "./loaded-list";
export { getKeptLists, KeptLists, type KeptList } from "./list-cache";
export { newer } from "./newer";
export { numberOf, placeAt, rowCount, type Place } from "./row-position";
export { EMPTY, idShown, plainly, update, type Anchor, type Shown, type ShownSection } from "./displayed-list";
