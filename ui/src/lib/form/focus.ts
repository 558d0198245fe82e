/* Focus inside a form: the first thing to fill in, or the one to correct. */

const CONTROLS = "input:not([disabled]), select:not([disabled]), textarea:not([disabled])";

/** The field by its name, or the first control when none is named. False when there is nothing to focus. */
export function focusField(root: HTMLElement | null, name: string | null): boolean {
  if (root === null) return false;
  const place = name === null ? root : [...root.querySelectorAll<HTMLElement>("[data-field]")].find((one) => one.dataset.field === name) ?? root;
  // Of radio buttons the chosen one is the stop.
  const control = place.querySelector<HTMLElement>("input[type=radio]:checked:not([disabled])") ?? place.querySelector<HTMLElement>(CONTROLS);
  const chosen = name === null ? place.querySelector<HTMLElement>(CONTROLS) : control;
  const target = isFirstRadio(chosen) ? control ?? chosen : chosen;
  target?.scrollIntoView({ block: "nearest" });
  target?.focus();
  return target !== null;
}

function isFirstRadio(element: HTMLElement | null): boolean {
  return element instanceof HTMLInputElement && element.type === "radio";
}
