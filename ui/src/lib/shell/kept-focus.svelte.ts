/* Keeps focus from being lost when another place or another detail is shown. A narrow window lays the detail over the
   list, so the row that had focus is gone or lies under it: then the detail has it. Keys work wherever focus is. */
import { tick } from "svelte";
import { route } from "$lib/route.svelte";

/** One pane at a time, as in the styles of the screens. */
const ONE_PANE = "(max-width: 820px)";

export function keepFocus(): void {
  let shown: { readonly place: string; readonly id: string | null } | null = null;
  $effect.pre(() => {
    const before = shown;
    shown = { place: route.place, id: route.id };
    if (before === null) return;
    if (before.place !== shown.place) void tick().then(toContent);
    else if (before.id !== shown.id && !isNowhere(document.activeElement)) void tick().then(() => next(toDetail));
  });
}

const content = () => document.getElementById("content");
const next = (work: () => void) => requestAnimationFrame(work);
const isNowhere = (at: Element | null): boolean => at === null || at === document.body;

/** A key that goes to another place takes focus along; what has focus in the shell keeps it. */
function toContent(): void {
  if (isNowhere(document.activeElement)) content()?.focus({ preventScroll: true });
}

function toDetail(): void {
  const at = document.activeElement;
  const detail = content()?.querySelector<HTMLElement>("aside, #inbox-detail") ?? null;
  const isUnder =
    route.id !== null &&
    matchMedia(ONE_PANE).matches &&
    content()?.contains(at) === true &&
    detail?.contains(at) === false;
  if (!isUnder && !isNowhere(at) && isSeen(at)) return;
  if (detail !== null && !detail.hasAttribute("tabindex")) detail.tabIndex = -1;
  (detail ?? content())?.focus({ preventScroll: true });
}

/** Whether it is drawn; a document that draws nothing cannot tell. */
const isSeen = (at: Element | null): boolean => at === null || !("checkVisibility" in at) || at.checkVisibility();
