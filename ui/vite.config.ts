/* How the product is built and its units are tested. The stories have a configuration of their own,
   so that nothing made up can reach the product. */
import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const lib = fileURLToPath(new URL("./src/lib", import.meta.url));

export default defineConfig({
  plugins: [svelte()],
  resolve: {
    alias: { $lib: lib },
    // Component tests run the browser build of Svelte.
    ...(process.env.VITEST ? { conditions: ["browser"] } : {}),
  },
  build: {
    target: "es2022",
    // The content policy of the window allows no data: script or style.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
    // Read from the disk or loopback; its limits are in `npm run size`, and decision 0032 has the reasons.
    chunkSizeWarningLimit: 1_000,
  },
  server: { port: 5173, strictPort: true },
  test: {
    // Fast by default; a test that needs a page says `// @vitest-environment jsdom` in its first line.
    environment: "node",
    include: ["src/**/*.test.ts", "stories/**/*.test.mjs"],
    setupFiles: ["./vitest.setup.ts"],
    restoreMocks: true,
    // Above the limit of a level that is waited on (fake-core/harness.ts), so that a busy machine tells what was missing.
    testTimeout: 20_000,
  },
});
