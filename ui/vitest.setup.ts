/* What a page in jsdom lacks and our components call: places on a screen that is not there. */
if (typeof Element !== "undefined") {
  Element.prototype.scrollIntoView ??= () => undefined;
  Element.prototype.scrollTo ??= () => undefined;
}
// No screen has a size there, so that no query of one matches.
if (typeof window !== "undefined")
  window.matchMedia ??= (media) =>
    ({ media, matches: false, addEventListener: () => undefined, removeEventListener: () => undefined }) as never;

export {};
