/* The drawer's width: between its bounds, remembered on this machine. Pure but for the storage it is given. */
export const NARROWEST = 420;
export const WIDEST = 720;
const KEY = "taskwarden.drawer";

export function clampWidth(width: number): number {
  return Math.round(Math.min(WIDEST, Math.max(NARROWEST, width)));
}

/** A storage that is switched off means the width of the design. */
export function storedWidth(storage: Pick<Storage, "getItem"> | undefined): number {
  try {
    const width = Number(storage?.getItem(KEY) ?? NaN);
    return Number.isFinite(width) && width > 0 ? clampWidth(width) : NARROWEST;
  } catch {
    return NARROWEST;
  }
}

export function storeWidth(storage: Pick<Storage, "setItem"> | undefined, width: number): void {
  try {
    storage?.setItem(KEY, String(clampWidth(width)));
  } catch {
    // Without storage the width lasts as long as the window.
  }
}
