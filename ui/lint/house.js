/* Two rules of our own: raw colours and sizes stay in tokens.css, and files stay small. */
const RAW = [
  [/#[0-9a-f]{3,8}\b/gi, "a raw colour"],
  [/\b(?:rgb|rgba|hsl|hsla|oklch|color-mix)\(/gi, "a raw colour"],
  [/(?<![\w-])-?\d*\.?\d+px\b/g, "a raw pixel size"],
  [/z-index\s*:\s*-?\d+/g, "a raw layer"],
];

/** Style text of a component without comments and without media queries, the one place a pixel may stand. */
function bare(css) {
  return css
    .replace(/\/\*[\s\S]*?\*\//g, (found) => " ".repeat(found.length))
    .replace(/@(?:media|container)[^{]*/g, (found) => " ".repeat(found.length));
}

const tokensOnly = {
  meta: { type: "problem", schema: [] },
  create(context) {
    if (!context.filename.endsWith(".svelte")) return {};
    return {
      "Program:exit"() {
        const source = context.sourceCode.getText();
        for (const style of source.matchAll(/<style[^>]*>([\s\S]*?)<\/style>/g)) {
          const body = style[1] ?? "";
          const start = (style.index ?? 0) + style[0].indexOf(body);
          const css = bare(body);
          for (const [pattern, what] of RAW) {
            for (const found of css.matchAll(pattern)) {
              const loc = context.sourceCode.getLocFromIndex(start + (found.index ?? 0));
              context.report({ loc, message: `${what} outside tokens.css: ${found[0]} (67).` });
            }
          }
        }
      },
    };
  },
};

const size = {
  meta: { type: "problem", schema: [] },
  create(context) {
    const limit = context.filename.endsWith(".svelte") ? 300 : 500;
    return {
      "Program:exit"(node) {
        const lines = context.sourceCode.lines.length;
        if (lines > limit)
          context.report({ node, message: `${lines} lines; the stop is ${limit}: split by noun (9).` });
      },
    };
  },
};

export default { rules: { "tokens-only": tokensOnly, size } };
