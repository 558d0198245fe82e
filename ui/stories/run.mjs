/* Opens every story in both themes and its sizes and fails with a list of what is wrong: anything axe finds (no rule
   off), a page that scrolls sideways, text that is cut without an ellipsis, an error or a blocked style in the console.
   `npm run stories` is the whole; each look loads the story anew. `--only inbox --shots DIR` looks at some and keeps
   pictures, at 720 and 1920 as well.
   `--sample` is what CI looks at: every story in one theme at its largest and its smallest size, and the pages of the
   whole app in both themes and at one of their smaller sizes. Which of them turns with the commit (turns.mjs); `--turn N`
   says it. Loading takes most of the time, so the stories of a sample follow each other in one page; what is wrong there
   is looked at again in a page that was loaded for it (decision 0112). */
import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { build } from "vite";
import { Looker } from "./look.mjs";
import { PAGES, PICTURE_SIZES, SIZES } from "./pages.mjs";
import { serve } from "./serve.mjs";
import { looksOfPage, looksOfStory, looksOfWhole } from "./turns.mjs";

const args = process.argv.slice(2);
const option = (name) => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined);
const only = option("--only");
const isSample = args.includes("--sample");
const shots = option("--shots");
/** Where the story page is built; a second run at the same time needs a folder of its own. */
const folder = option("--folder") ?? "dist-stories";
const root = fileURLToPath(new URL("..", import.meta.url));
/** One computes while the others wait for frames. */
const LOOKERS = 3;

/** A number that differs from commit to commit; 0 where there is no git. */
function turnOfCommit() {
  try {
    return parseInt(
      execFileSync("git", ["rev-parse", "HEAD"], {
        cwd: root,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      }).slice(0, 4),
      16,
    );
  } catch {
    return 0;
  }
}

if (!args.includes("--no-build"))
  await build({ root, configFile: `${root}vite.stories.ts`, logLevel: "error", build: { outDir: folder } });
if (shots) await mkdir(shots, { recursive: true });
const site = await serve(`${root}${folder}`);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
const lookers = await Promise.all(Array.from({ length: LOOKERS }, () => Looker.open(browser, site.at, shots)));

const stories = (await lookers[0].list()).map((story) => ({
  ...story,
  sizes: shots ? PICTURE_SIZES : SIZES,
  url: (theme) => `/stories.html?story=${encodeURIComponent(story.name)}&theme=${theme}`,
}));
const all = [...stories, ...PAGES].filter((story) => !only || story.name.includes(only));
if (all.length === 0) {
  console.error("no story to look at");
  process.exit(1);
}

const turn = Number(option("--turn") ?? turnOfCommit());
const looks = (story, at) => {
  if (!isSample) return looksOfWhole(story, shots !== undefined);
  return PAGES.includes(story) ? looksOfPage(story, turn) : looksOfStory(story, turn + at);
};
const wrong = [];
let looked = 0;
// Each takes its own part of the list, so that what comes before a story is the same in every run of a commit.
await Promise.all(
  lookers.map(async (looker, first) => {
    let before = "the list";
    for (let at = first; at < all.length; at += LOOKERS) {
      const story = all[at];
      const isInPlace = isSample && !PAGES.includes(story);
      const found = await looker.look(story, looks(story, at), isInPlace);
      // What counts is a page that was loaded for the story. What shows only after another story is told and passes.
      const counts = isInPlace && found.length > 0 ? await looker.look(story, looks(story, at), false) : found;
      wrong.push(...counts);
      for (const text of found) if (!counts.includes(text)) console.log(`only after ${before}: ${text}`);
      before = story.name;
      looked += 1;
      if (looked % 20 === 0) console.log(`${looked} of ${all.length}…`);
    }
  }),
);

await browser.close();
await site.close();
console.log(`${looked} of ${all.length} stories and pages looked at${isSample ? `, turn ${turn}` : ""}`);
if (wrong.length > 0 || looked !== all.length) {
  console.error(`${wrong.length} complaints:\n${wrong.map((text) => `  ${text}`).join("\n")}`);
  process.exit(1);
}
