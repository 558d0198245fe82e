/* What a page in jsdom lacks and our components call: places on a screen that is not there. */
if (typeof Element !== "undefined") {
  Element.prototype.scrollIntoView ??= () => undefined;
  Element.prototype.scrollTo ??= () => undefined;
}

export {};
