/* What tasks are asked for: the filter, its text, its views and its address. All of it pure. */
export { readSearch, writeSearch, type FilterAddress } from "./address";
export {
  NO_FILTER,
  withoutConditions,
  conditions,
  CONDITIONS,
  toggled,
  toListQuery,
  withoutCondition,
  type Changed,
  type ConditionKey,
  type Filter,
} from "./filter";
export { GROUP_PHASES, OPEN_PHASES } from "./phases";
export { readSpan, writeSpan } from "./time-span";
export { orderedPhases, parseFilter, formatFilter, type ParsedFilter } from "./filter-text";
export { completes, offers, takeTyped, withOffer, type Known } from "./typing";
export { countOf, ALL_VIEW, nameProblem, ownViews, currentView, SYSTEM_VIEWS, type View } from "./views";
