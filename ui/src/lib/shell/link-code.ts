/* The one-time code in the fragment of a sign-in link, `/#code=…`. It is taken out of the address before anything else
   happens, so that nothing the page does later can tell it. */

const FRAGMENT = /^#code=([0-9A-Za-z-]{1,32})$/;

/** The code of the address, which is then without it; null where there is none. */
export function takeLinkCode(page: Pick<Window, "location" | "history">): string | null {
  const { hash, pathname, search } = page.location;
  if (!hash.startsWith("#code=")) return null;
  page.history.replaceState(page.history.state, "", `${pathname}${search}`);
  return FRAGMENT.exec(hash)?.[1] ?? "";
}
