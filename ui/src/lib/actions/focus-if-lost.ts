/** What had focus goes away with this change, such as a form that was sent: then the given control has it. */
export function focusIfLost(find: () => HTMLElement | null | undefined): void {
  // The old part of the page leaves after the new one came.
  requestAnimationFrame(() => {
    if (document.activeElement === document.body) find()?.focus();
  });
}
