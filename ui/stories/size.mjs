/* The bundle of the product, compressed, fonts apart, and nothing made up in it. Run after `npm run build`.
   Two figures: what the first screen loads, and the whole with the places that are loaded when they are opened. */
import { readdir, readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";

const FIRST_LIMIT_BYTES = 300_000;
/** A little above what it is, so that it cannot grow unnoticed; whoever raises it says why in decision 0032. */
const WHOLE_LIMIT_BYTES = 447_200;
const folder = new URL("../dist/assets/", import.meta.url);
const page = await readFile(new URL("../dist/index.html", import.meta.url), "utf8");
const sizes = new Map();
const bodies = new Map();
let fonts = 0;
const wrong = [];
for (const name of await readdir(folder)) {
  const body = await readFile(new URL(name, folder));
  // A font is compressed already, and loaded once, for the letters a page has.
  if (name.endsWith(".woff2")) {
    fonts += body.length;
    continue;
  }
  sizes.set(name, gzipSync(body).length);
  if (name.endsWith(".js")) bodies.set(name, body.toString());
  // Words that stand in made-up data alone.
  for (const word of ["Mara Lindqvist", "ledgerly.example"])
    if (body.includes(word)) wrong.push(`${name} has made-up data in it: ${word}`);
}

/** What the page names, and what those files import as they start. */
const first = new Set([...page.matchAll(/assets\/([^"]+)/g)].map(([, name]) => name).filter((name) => sizes.has(name)));
for (const name of first)
  for (const [, found] of (bodies.get(name) ?? "").matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g))
    if (sizes.has(found)) first.add(found);

const sum = (names) => [...names].reduce((total, name) => total + sizes.get(name), 0);
const kB = (bytes) => (bytes / 1000).toFixed(1);
const whole = sum(sizes.keys());
const begin = sum(first);
console.log(
  `the first screen loads ${kB(begin)} kB compressed, the whole is ${kB(whole)} kB, fonts ${kB(fonts)} kB beside it`,
);
if (begin === 0) wrong.push("there is no bundle: run `npm run build` first");
if (begin >= FIRST_LIMIT_BYTES) wrong.push(`the first screen is over ${FIRST_LIMIT_BYTES / 1000} kB compressed`);
if (whole >= WHOLE_LIMIT_BYTES) wrong.push(`the whole is over ${WHOLE_LIMIT_BYTES / 1000} kB compressed`);
for (const text of wrong) console.error(text);
process.exit(wrong.length > 0 ? 1 : 0);
