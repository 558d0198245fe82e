/* Which binding a press belongs to. Pure but for the event it is shown. Parsing and matching of single presses is
   tinykeys'; the order of scopes, sequences and the guards are ours. */
import { matchKeyBindingPress, parseKeybinding, type KeyBindingPress } from "tinykeys";

export interface Binding {
  /** As tinykeys writes it: `j`, `$mod+k`, `g i`, `Shift+J`. Empty: in the palette only. */
  readonly key: string | readonly string[];
  /** What it does, as the panel and the palette show it. */
  readonly label: string;
  /** Under which heading it stands there. */
  readonly group: string;
  readonly run: (event: KeyboardEvent | null) => void;
  /** Works while a text field has focus. Default: Escape and chords with the command key do. */
  readonly typing?: boolean;
  /** Whether it works now; one that does not is not shown as a command. */
  readonly when?: () => boolean;
  /** Shown in the panel, but not as a command of the palette (moving about, typing). */
  readonly move?: boolean;
}

export interface Parsed {
  readonly binding: Binding;
  readonly presses: KeyBindingPress[];
}

export function keysOf(binding: Binding): readonly string[] {
  const keys = typeof binding.key === "string" ? [binding.key] : binding.key;
  return keys.filter((key) => key !== "");
}

export function parsed(bindings: readonly Binding[]): Parsed[] {
  return bindings.flatMap((binding) => keysOf(binding).map((key) => ({ binding, presses: parseKeybinding(key) })));
}

export type Found = { kind: "run"; binding: Binding } | { kind: "wait" } | { kind: "none" };

/** Matches the presses so far, newest last. A finished binding wins over one that still waits for a press. */
export function match(candidates: readonly Parsed[], events: readonly KeyboardEvent[]): Found {
  let waits = false;
  for (const { binding, presses } of candidates) {
    if (presses.length < events.length) continue;
    const fits = events.every((event, at) => {
      const press = presses[at];
      return press !== undefined && matchKeyBindingPress(event, press);
    });
    if (!fits) continue;
    if (presses.length === events.length) return { kind: "run", binding };
    waits = true;
  }
  return waits ? { kind: "wait" } : { kind: "none" };
}

const TEXT_INPUTS = new Set([
  "text",
  "search",
  "url",
  "tel",
  "email",
  "password",
  "number",
  "date",
  "time",
  "datetime-local",
  "month",
  "week",
]);

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && TEXT_INPUTS.has(target.type);
}

const ARROWS = new Set(["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"]);

/** Enter and Space belong to the control that has focus, and arrows to a choice among radio buttons. */
export function isPressOfControl(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (ARROWS.has(event.key)) return event.target instanceof HTMLInputElement && event.target.type === "radio";
  if (event.key !== "Enter" && event.key !== " ") return false;
  return (
    event.target instanceof Element &&
    event.target.closest("button, a[href], summary, input, [role=menuitem], [role=tab]") !== null
  );
}

/** Whether focus is in something laid over the page. */
export function isInLayer(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("[role=dialog], [role=alertdialog], [role=menu]") !== null;
}

export function isMeant(binding: Binding, typing: boolean): boolean {
  if (!(binding.when?.() ?? true)) return false;
  if (!typing) return true;
  return (
    binding.typing ?? keysOf(binding).some((key) => key === "Escape" || (key.startsWith("$mod+") && key !== "$mod+a"))
  );
}
