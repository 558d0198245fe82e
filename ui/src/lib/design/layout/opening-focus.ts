/* Where focus goes when a dialog or a popover opens: to the field marked `data-autofocus`, else to the control marked
   `data-keep`, which changes nothing; without a mark, to the first control, as the library does. The marks may stand on
   a wrapper. The library does not dispatch its event at the box, so the box is given. */
const CONTROLS = "button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), a[href]";

export function focusOnOpen(box: HTMLElement | null, event: Event, options?: FocusOptions): void {
  const marked = box?.querySelector<HTMLElement>("[data-autofocus]") ?? box?.querySelector<HTMLElement>("[data-keep]");
  if (!marked) return;
  const control = marked.matches(CONTROLS) ? marked : marked.querySelector<HTMLElement>(CONTROLS);
  if (control === null) return;
  event.preventDefault();
  control.focus(options);
}
