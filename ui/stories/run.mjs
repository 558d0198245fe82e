/* Opens every story in both themes and its sizes and fails with a list of what is wrong: anything axe finds (no rule
   off), a page that scrolls sideways, text that is cut without an ellipsis, an error or a blocked style in the console.
   `npm run stories -- --only inbox --shots DIR` looks at some and keeps pictures, at 720 and 1920 as well; `--sample` looks at every story once,
   in alternate themes at its largest and its smallest size, and at the pages of the whole app in full. */
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { build } from "vite";
import { cut, sideways } from "./geometry.mjs";
import { PAGES, PICTURE_SIZES, SIZES } from "./pages.mjs";
import { serve } from "./serve.mjs";

const args = process.argv.slice(2);
const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const only = option("--only");
const isSample = args.includes("--sample");
const shots = option("--shots");
/** Where the story page is built; a second run at the same time needs a folder of its own. */
const folder = option("--folder") ?? "dist-stories";
const root = fileURLToPath(new URL("..", import.meta.url));
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES_AT_ONCE = 2;
/** The longest wait for a page: CI shares two slow cores between this and a build. */
const PATIENCE_MS = 60_000;

if (!args.includes("--no-build"))
  await build({ root, configFile: `${root}vite.stories.ts`, logLevel: "error", build: { outDir: folder } });
if (shots) await mkdir(shots, { recursive: true });
const site = await serve(`${root}${folder}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

async function newPage() {
  const context = await browser.newContext({
    viewport: SIZES[0],
    reducedMotion: "reduce",
    locale: "en-GB",
    timezoneId: "UTC",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  return context.newPage();
}

const first = await newPage();
await first.goto(`${site.at}/stories.html`);
const stories = (await first.evaluate(() => window.stories)).map((story) => ({
  ...story,
  sizes: shots ? PICTURE_SIZES : SIZES,
  url: (theme) => `/stories.html?story=${encodeURIComponent(story.name)}&theme=${theme}`,
}));
const all = [...stories, ...PAGES].filter((story) => !only || story.name.includes(only));
await first.context().close();
if (all.length === 0) {
  console.error("no story to look at");
  process.exit(1);
}

const wrong = [];
const THEMES = ["light", "dark"];
const queue = all.flatMap((story, at) => {
  if (!isSample || PAGES.includes(story)) return THEMES.map((theme) => ({ story, theme }));
  const ends = story.sizes.filter((size, index) => index === 0 || index === story.sizes.length - 1);
  return [{ story: { ...story, sizes: ends, isSample }, theme: THEMES[at % THEMES.length] }];
});
const total = queue.length;
let looked = 0;

async function look(page, { story, theme }) {
  const where = `${story.name} (${theme})`;
  const complaints = [];
  const hear = (text) => complaints.push(text);
  const onconsole = (message) => message.type() === "error" && hear(`console: ${message.text()}`);
  const onerror = (error) => hear(`error: ${error.message}`);
  page.on("console", onconsole);
  page.on("pageerror", onerror);
  await page.emulateMedia({
    forcedColors: story.forced ? "active" : "none",
    colorScheme: theme,
    reducedMotion: "reduce",
  });
  // Geometry is the same in both themes: the smaller sizes are looked at in one, and in both for pictures.
  for (const size of theme === "light" || shots || story.isSample ? story.sizes : story.sizes.slice(0, 1)) {
    await page.setViewportSize({ width: size.width, height: size.height });
    // Loading takes most of the time: of a sample, what was only loaded changes its size in place.
    const isOnlyLoaded = story.isSample && size !== story.sizes[0] && story.click.length + story.keys.length === 0;
    const isLoaded = size.isInPlace || isOnlyLoaded;
    if (isLoaded) await settled(page);
    else await open(page, story, theme);
    const at = `${where} ${size.width}x${size.height}`;
    for (const found of await page.evaluate(sideways)) wrong.push(`${at}: ${found}`);
    for (const found of await page.evaluate(cut)) wrong.push(`${at}: ${found}`);
    if (size === story.sizes[0]) {
      // Through the debugger, so that the page's content policy stays as it is.
      await page.evaluate(axe);
      const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      for (const found of result.violations) {
        wrong.push(
          `${at}: axe ${found.id} (${found.help}): ${found.nodes
            .slice(0, 3)
            .map((node) => node.target.join(" "))
            .join(" | ")}`,
        );
      }
    }
    if (shots)
      await page.screenshot({ path: `${shots}/${story.name.replace(/[^\w-]+/g, "_")}-${theme}-${size.width}.png` });
  }
  page.off("console", onconsole);
  page.off("pageerror", onerror);
  for (const text of new Set(complaints)) wrong.push(`${where}: ${text}`);
  looked += 1;
  if (looked % 20 === 0) console.log(`${looked} of ${total}…`);
}

/** Loads a story and does what comes first in it. */
async function open(page, story, theme) {
  // From an empty page: an address that differs in its hash alone would not be loaded anew.
  await page.goto("about:blank");
  await page.goto(`${site.at}${story.url(theme)}`);
  await page.waitForSelector("main");
  await settled(page);
  for (const selector of story.click) await page.click(selector);
  if (story.click.length > 0) await settled(page);
  for (const key of story.keys) {
    await page.keyboard.press(key);
    await settled(page);
  }
}

/** Two frames without a change of the page, at most fifteen seconds: stories have no endless motion. */
function settled(page) {
  return page.evaluate(
    () =>
      new Promise((done) => {
        const end = performance.now() + 15_000;
        let quiet = 0;
        const watch = new MutationObserver(() => (quiet = 0));
        watch.observe(document.documentElement, {
          subtree: true,
          childList: true,
          attributes: true,
          characterData: true,
        });
        const step = () => {
          quiet += 1;
          if (quiet < 6 && performance.now() < end) requestAnimationFrame(step);
          else {
            watch.disconnect();
            done();
          }
        };
        setTimeout(() => requestAnimationFrame(step), 220);
      }),
  );
}

await Promise.all(
  Array.from({ length: PAGES_AT_ONCE }, async () => {
    const page = await newPage();
    for (let next = queue.shift(); next; next = queue.shift()) {
      try {
        await look(page, next);
      } catch (error) {
        wrong.push(`${next.story.name} (${next.theme}): ${error.message.split("\n")[0]}`);
      }
    }
  }),
);

await browser.close();
await site.close();
console.log(`${looked} of ${total} stories and pages looked at`);
if (wrong.length > 0 || looked !== total) {
  console.error(`${wrong.length} complaints:\n${wrong.map((text) => `  ${text}`).join("\n")}`);
  process.exit(1);
}
