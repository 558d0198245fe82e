/* The bundle of the product: under 250 kB compressed, and nothing made up in it. Run after `npm run build`. */
import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const LIMIT_BYTES = 250_000;
const folder = new URL("../dist/assets/", import.meta.url);
let sum = 0;
const wrong = [];
for (const name of await readdir(folder)) {
  const body = await readFile(new URL(name, folder));
  sum += gzipSync(body).length;
  // Words that stand in made-up data alone.
  for (const word of ["Mara Lindqvist", "ledgerly.example"])
    if (body.includes(word)) wrong.push(`${name} has made-up data in it: ${word}`);
}
console.log(`the bundle is ${(sum / 1000).toFixed(1)} kB compressed`);
if (sum === 0) wrong.push("there is no bundle: run `npm run build` first");
if (sum >= LIMIT_BYTES) wrong.push(`the bundle is over ${LIMIT_BYTES / 1000} kB compressed`);
for (const text of wrong) console.error(text);
process.exit(wrong.length > 0 ? 1 : 0);
