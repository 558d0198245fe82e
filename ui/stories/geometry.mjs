/* Checks that run inside the page. They must not refer to anything outside themselves. */

/** The page never scrolls sideways, and nothing stands outside of it. */
export function sideways() {
  const found = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth - root.clientWidth}px too wide`);
  if (document.body.scrollHeight > document.body.clientHeight + 1)
    found.push(`the page is ${document.body.scrollHeight - document.body.clientHeight}px too high`);
  return found;
}

/** Text that is cut off without an ellipsis, controls that stand outside of the window, and figures that are not shown. */
export function cut() {
  const found = [];
  const name = (element) =>
    `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}"> "${(element.textContent ?? "").trim().slice(0, 40)}"`;
  const hidden = (style) => style.overflowX === "hidden" || style.overflowX === "clip";
  for (const element of document.querySelectorAll("body *")) {
    if (
      element.closest(".sr, [aria-hidden=true], svg, .skip") ||
      !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    )
      continue;
    const style = getComputedStyle(element);
    const ownText = [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "",
    );
    if (
      ownText &&
      hidden(style) &&
      element.scrollWidth > element.clientWidth + 1 &&
      style.textOverflow !== "ellipsis" &&
      element.clientWidth > 0
    ) {
      found.push(`cut sideways: ${name(element)}`);
    }
    if (
      ownText &&
      style.overflowY === "hidden" &&
      element.scrollHeight > element.clientHeight + 3 &&
      element.clientHeight > 0 &&
      style.textOverflow !== "ellipsis"
    ) {
      found.push(`cut below: ${name(element)}`);
    }
    if (element.matches("button, a[href], input:not(.sr), select, textarea")) {
      const box = element.getBoundingClientRect();
      // What lies in something that scrolls can be reached; what lies in something that hides cannot.
      let parent = element.parentElement;
      let scrolls = false;
      while (parent && parent !== document.body) {
        const around = getComputedStyle(parent);
        if (/(auto|scroll)/.test(around.overflowX + around.overflowY)) {
          scrolls = true;
          break;
        }
        if (hidden(around)) {
          const limit = parent.getBoundingClientRect();
          if (box.right > limit.right + 1 || box.left < limit.left - 1) found.push(`control cut off: ${name(element)}`);
        }
        parent = parent.parentElement;
      }
      if (!scrolls && (box.right > innerWidth + 1 || box.left < -1 || box.bottom > innerHeight + 1 || box.top < -1))
        found.push(`control outside of the window: ${name(element)}`);
    }
  }
  // A narrow window shortens the words of the status bar; the figures stay.
  for (const figure of document.querySelectorAll(".statusbar [data-figure]"))
    if (!figure.checkVisibility()) found.push(`figure hidden: ${name(figure)}`);
  return [...new Set(found)].slice(0, 8);
}
