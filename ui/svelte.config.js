import { vitePreprocess } from "@sveltejs/vite-plugin-svelte";

export default {
  preprocess: vitePreprocess(),
  compilerOptions: {
    runes: true,
    // Each styled element carries it: without the usual prefix the bundle is smaller. A class may not begin with a digit.
    cssHash: ({ hash, css, filename }) => `s${hash(filename ?? css)}`,
  },
};
