/* The page's icon with the count of what waits for a person, so that a tab in the background shows it. */
import { count } from "$lib/format/count";

const PLAIN = "/mark.svg";
/** More than this fits in no tab. */
const MOST = 99;

/** The address of the icon: the plain one, or a drawing with the number. */
export function faviconOf(items: number): string {
  if (items <= 0) return PLAIN;
  const said = items > MOST ? `${MOST}+` : count(items);
  const size = said.length > 2 ? 6 : said.length > 1 ? 8 : 10;
  const drawing =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="#b45309"/>` +
    `<text x="8" y="8" font-family="sans-serif" font-weight="700" font-size="${size}" fill="#fff" ` +
    `text-anchor="middle" dominant-baseline="central">${said}</text></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(drawing)}`;
}

export function showFavicon(items: number): void {
  document.querySelector<HTMLLinkElement>("link[rel='icon']")?.setAttribute("href", faviconOf(items));
}
