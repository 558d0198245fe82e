/* What is laid over the page: dialogs, popovers and menus. The newest layer gets Escape and presses outside of it; a
   layer gives the focus back that it took. Where a popover stands is in `placement.ts`. No colours, no words. */
import type { Attachment } from "svelte/attachments";

interface Layer {
  readonly node: HTMLElement;
  /** What belongs to it without being inside, such as the button that opened it. */
  readonly owner: () => Element | null;
  readonly dismiss: (why: "escape" | "outside" | "tab") => void;
}

const layers: Layer[] = [];
const top = () => layers.at(-1);

function onKey(event: KeyboardEvent): void {
  const layer = top();
  if (!layer || event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
  event.preventDefault();
  layer.dismiss("escape");
}

function onPress(event: Event): void {
  const layer = top();
  const target = event.target;
  if (!layer || !(target instanceof Node) || layer.node.contains(target)) return;
  if (layer.owner()?.contains(target)) return;
  layer.dismiss("outside");
}

const TABBABLE =
  'a[href], button:not([disabled]), input:not([disabled]), select:not([disabled]), textarea:not([disabled]), summary, [tabindex]:not([tabindex^="-"])';

/** What Tab reaches, in its order. */
export function tabbable(node: ParentNode): HTMLElement[] {
  const all = [...node.querySelectorAll<HTMLElement>(TABBABLE)].filter(
    (one) => !one.closest("[inert], [hidden]") && one.getAttribute("tabindex") !== "-1",
  );
  // Of radio buttons with one name, Tab reaches the chosen one.
  return all.filter((one) => {
    if (!(one instanceof HTMLInputElement) || one.type !== "radio" || one.checked || one.name === "") return true;
    const same = all.filter((other) => other instanceof HTMLInputElement && other.name === one.name);
    return same[0] === one && !same.some((other) => other instanceof HTMLInputElement && other.checked);
  });
}

/** Moves an element out of the page, so that nothing cuts it off or lies over it. */
export const portal =
  (target: string = "body"): Attachment<HTMLElement> =>
  (node) => {
    (document.querySelector(target) ?? document.body).append(node);
    return () => node.remove();
  };

export interface LayerOptions {
  /** Chooses what gets the focus; null for the first that Tab reaches. */
  readonly focus?: (node: HTMLElement) => HTMLElement | null;
  readonly dismiss: Layer["dismiss"];
  readonly owner?: () => Element | null;
  /** What had the focus before, where content may have taken it by now. */
  readonly before?: () => Element | null;
  /** Tab stays inside: the page under it is not reachable. */
  readonly isModal?: boolean;
}

/** Makes an element a layer for as long as it is there. Presses on the element itself count as inside. */
export const layer =
  ({ focus, dismiss, owner = () => null, before: had, isModal = false }: LayerOptions): Attachment<HTMLElement> =>
  (node) => {
    const before = had?.() ?? document.activeElement;
    const entry: Layer = { node, owner, dismiss };
    if (layers.length === 0) {
      document.addEventListener("keydown", onKey);
      document.addEventListener("pointerdown", onPress, true);
    }
    layers.push(entry);
    const onTab = (event: KeyboardEvent) => {
      if (event.key !== "Tab" || event.defaultPrevented || !isModal) return;
      const all = tabbable(node);
      const [first, last] = [all[0], all.at(-1)];
      const isOut = !node.contains(document.activeElement) || document.activeElement === node;
      const to = event.shiftKey
        ? isOut || document.activeElement === first
          ? last
          : undefined
        : isOut || document.activeElement === last
          ? first
          : undefined;
      if (to === undefined && all.length > 0) return;
      event.preventDefault();
      (to ?? node).focus();
    };
    node.addEventListener("keydown", onTab);
    const holdFocus = (event: FocusEvent) => {
      if (!isModal || top() !== entry) return;
      const to = event.target;
      if (to instanceof Element && to !== document.body && !node.contains(to)) (tabbable(node)[0] ?? node).focus();
    };
    document.addEventListener("focusin", holdFocus);
    // What takes the focus by itself as it appears keeps it.
    const frame = requestAnimationFrame(() => {
      if (node.contains(document.activeElement) && document.activeElement !== node) return;
      (focus?.(node) ?? tabbable(node)[0] ?? node).focus({ preventScroll: true });
    });
    return () => {
      cancelAnimationFrame(frame);
      node.removeEventListener("keydown", onTab);
      document.removeEventListener("focusin", holdFocus);
      layers.splice(layers.indexOf(entry), 1);
      if (layers.length === 0) {
        document.removeEventListener("keydown", onKey);
        document.removeEventListener("pointerdown", onPress, true);
      }
      const now = document.activeElement;
      const isLost = now === null || now === document.body || node.contains(now);
      if (isLost && before instanceof HTMLElement && before.isConnected && before !== document.body)
        before.focus({ preventScroll: true });
    };
  };
