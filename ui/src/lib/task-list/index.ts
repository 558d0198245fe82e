/* Long lists of tasks: what is loaded, what is shown while it changes, what is selected. All of it pure. */
export {
  addToSelection,
  ALL_MATCHING,
  isSelected,
  NOTHING_SELECTED,
  selectionSize,
  toggleSelected,
  type Selection,
} from "./selection";
export {
  countOf,
  hasPage,
  loadedList,
  EMPTY_LIST,
  PAGE,
  pagesOf,
  loadedRows,
  withPage,
  type LoadedList,
  type LoadedPage,
  type PageName,
} from "./loaded-list";
export { getListCache, ListCache, type CachedList } from "./list-cache";
export { newer } from "./newer";
export { rowNumberOf, positionAt, rowCount, type RowPosition } from "./row-position";
export {
  NOTHING_DISPLAYED,
  displayedId,
  displayLatest,
  updateDisplayed,
  type Anchor,
  type DisplayedList,
  type DisplayedSection,
} from "./displayed-list";
