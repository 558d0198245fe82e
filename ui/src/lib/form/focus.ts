/* Focus inside a form: the first thing to fill in, or the one to correct. */

const CONTROLS = "input:not([disabled]), select:not([disabled]), textarea:not([disabled])";

/** The field by its name, or the first control when none is named. False when there is nothing to focus. */
export function focusField(root: HTMLElement | null, name: string | null): boolean {
  if (root === null) return false;
  const places = [...root.querySelectorAll<HTMLElement>("[data-field]")];
  const place =
    places.find((one) => one.dataset.field === name) ?? places.find((one) => one.querySelector(CONTROLS) !== null);
  // Of radio buttons the chosen one is the stop.
  const target =
    place?.querySelector<HTMLElement>("input[type=radio]:checked:not([disabled])") ??
    place?.querySelector<HTMLElement>(CONTROLS);
  target?.scrollIntoView({ block: "nearest" });
  target?.focus();
  return target !== undefined && target !== null;
}
