/* Copies to the clipboard and saves files, always on a person's request. */

/** False where the page may not write there. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text);
  }
}

/** Pages without the permission may still copy a selection of their own. */
function copyOldWay(text: string): boolean {
  const box = document.createElement("textarea");
  box.value = text;
  box.setAttribute("readonly", "");
  box.className = "sr";
  const back = document.activeElement;
  document.body.append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    box.remove();
    if (back instanceof HTMLElement) back.focus();
  }
}

/** The address of a blob is held this long for the browser to begin with it. */
const HELD_MS = 60_000;

/** Hands a file to the browser's own saving. The type is always one that nothing opens by itself. */
export function save(name: string, content: readonly BlobPart[]): void {
  const address = URL.createObjectURL(new Blob([...content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), HELD_MS);
}

/** The bytes of base64; null when it is none. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    const raw = atob(text.replace(/\s+/g, ""));
    const bytes = new Uint8Array(raw.length);
    for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}
