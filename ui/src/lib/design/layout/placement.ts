/* Where a popover stands: at its anchor, on the side with room, inside the window. `placed` is pure; `place` keeps an
   element there while the page scrolls or changes. */
import type { Attachment } from "svelte/attachments";

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}
export interface Placement {
  readonly side: "top" | "bottom";
  readonly align: "start" | "center" | "end";
  /** Between anchor and popover. */
  readonly gap: number;
}
/** Between a popover and the edge of the window. */
const EDGE = 8;

export function placed(
  anchor: Box,
  size: { readonly width: number; readonly height: number },
  window: { readonly width: number; readonly height: number },
  { side, align, gap }: Placement,
  isRtl = false,
): { left: number; top: number } {
  const above = anchor.top - gap - size.height;
  const below = anchor.top + anchor.height + gap;
  const fitsAbove = above >= EDGE;
  const fitsBelow = below + size.height <= window.height - EDGE;
  // The other side where only that has room.
  const wantsTop = side === "top" ? fitsAbove || !fitsBelow : !fitsBelow && fitsAbove;
  const isAtLeft = (align === "start") !== isRtl;
  const wanted =
    align === "center"
      ? anchor.left + (anchor.width - size.width) / 2
      : isAtLeft
        ? anchor.left
        : anchor.left + anchor.width - size.width;
  const within = (value: number, length: number, room: number) => Math.max(EDGE, Math.min(value, room - EDGE - length));
  return {
    left: Math.round(within(wanted, size.width, window.width)),
    top: Math.round(within(wantsTop ? above : below, size.height, window.height)),
  };
}

export const place =
  (anchor: () => HTMLElement | null, how: Placement): Attachment<HTMLElement> =>
  (node) => {
    const update = () => {
      const at = anchor();
      if (!at) return;
      const size = { width: node.offsetWidth, height: node.offsetHeight };
      const room = { width: document.documentElement.clientWidth, height: window.innerHeight };
      const isRtl = getComputedStyle(node).direction === "rtl";
      const { left, top } = placed(at.getBoundingClientRect(), size, room, how, isRtl);
      node.style.left = `${left}px`;
      node.style.top = `${top}px`;
    };
    update();
    const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver(update);
    sizes?.observe(node);
    const at = anchor();
    if (at) sizes?.observe(at);
    addEventListener("resize", update);
    addEventListener("scroll", update, { capture: true, passive: true });
    return () => {
      sizes?.disconnect();
      removeEventListener("resize", update);
      removeEventListener("scroll", update, { capture: true });
    };
  };
