/* Builds the story page and the bench page: every component in every state, on made-up data.
   Not part of the product. */
import { fileURLToPath } from "node:url";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [svelte()],
  resolve: { alias: { $lib: at("./src/lib") } },
  build: {
    outDir: "dist-stories",
    target: "es2022",
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { input: { stories: at("./stories.html"), bench: at("./bench.html"), app: at("./fake.html") } },
  },
  server: { port: 5174, strictPort: true },
});
