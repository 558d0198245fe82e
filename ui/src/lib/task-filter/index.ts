/* What tasks are asked for: the filter, its text, its views and its address. All of it pure. */
export { readSearch, writeSearch, type Asked } from "./address";
export {
  ALL,
  cleared,
  conditions,
  CONDITIONS,
  toggled,
  wire,
  without,
  type Changed,
  type ConditionKey,
  type Filter,
} from "./filter";
export { GROUP_PHASES, OPEN_PHASES } from "./phases";
export { readSpan, writeSpan } from "./time-span";
export { inOrder, read, write, type Read } from "./filter-text";
export { countOf, EVERYTHING, nameProblem, ownViews, standing, SYSTEM_VIEWS, type View } from "./views";
