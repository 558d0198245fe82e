/* Serves a built folder on loopback with the product's own content policy. */
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export async function serve(folder) {
  const server = createServer(async (request, reply) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://x").pathname)).replace(/^(\.\.[/\\])+/, "");
    try {
      const body = await readFile(join(folder, path));
      reply.writeHead(200, {
        "content-type": TYPES[extname(path)] ?? "application/octet-stream",
        "content-security-policy": POLICY,
        // The names of assets hold a digest: what was read and compiled once is kept for the next story.
        ...(path.startsWith("/assets/") ? { "cache-control": "max-age=3600, immutable" } : {}),
      });
      reply.end(body);
    } catch {
      reply.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { at: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((done) => server.close(done)) };
}
