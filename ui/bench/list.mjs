/* Measures the task list in Chromium on a made-up core of 100,000 tasks: time to the first rows, main-thread time for
   each frame of the screen while scrolling and under 5,000 changes a second, both against an empty list in the same
   run, memory of the page, and that no change is lost. One JSON object per line, as `xtask bench` reads them.
   `node bench/list.mjs [--no-build] [--tasks 100000] [--changes 5000] [--seconds 10]`. Fails when a change was lost. */
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { build } from "vite";
import { serve } from "../stories/serve.mjs";
import { frames, percentile } from "./frames.mjs";

const args = process.argv.slice(2);
const number = (name, otherwise) => (args.includes(name) ? Number(args[args.indexOf(name) + 1]) : otherwise);
const tasks = number("--tasks", 100_000);
const changes = number("--changes", 5_000);
const seconds = number("--seconds", 10);
const folder = args.includes("--folder")
  ? args[args.indexOf("--folder") + 1]
  : fileURLToPath(new URL("../dist-stories", import.meta.url));
const root = fileURLToPath(new URL("..", import.meta.url));

if (!args.includes("--no-build")) await build({ root, configFile: `${root}vite.stories.ts`, logLevel: "warn" });
const site = await serve(folder);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});

const told = [];
function tell(metric, ours, { reference = null, aim = null, unit }) {
  const round = (value) => (value === null ? null : Math.round(value * 100) / 100);
  const ratio = reference === null || reference === 0 ? null : round(ours / reference);
  told.push({ metric, reference: round(reference), ours: round(ours), ratio, aim, unit });
  console.log(JSON.stringify(told.at(-1)));
}

const ROW = ".trow [role=gridcell]";
/** A filter that nothing passes: the same app on the same core, with an empty list. */
const EMPTY = "#/tasks?q=server%3Anowhere";

async function open(hash, perSecond) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  // The moment the first row is painted, told by the page itself.
  await page.addInitScript((row) => {
    new MutationObserver((_, watch) => {
      if (!document.querySelector(row)) return;
      watch.disconnect();
      requestAnimationFrame(() =>
        setTimeout(() => {
          window.bench.firstRows = { at: performance.now() - window.bench.startedAt, coreMs: window.bench.coreMs };
        }),
      );
    }).observe(document, { childList: true, subtree: true });
  }, ROW);
  await page.goto(`${site.at}/bench.html?tasks=${tasks}&changes=${perSecond}${hash}`);
  return page;
}

/** Main-thread milliseconds of each frame of the screen while `work` runs. */
async function traced(page, work) {
  const session = await page.context().newCDPSession(page);
  const browserSession = await browser.newBrowserCDPSession();
  const events = [];
  browserSession.on("Tracing.dataCollected", ({ value }) => {
    for (const event of value) events.push(event);
  });
  await browserSession.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: {
      includedCategories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline", "__metadata"],
    },
  });
  await page.evaluate(() => console.timeStamp("bench-begin"));
  await work();
  await page.evaluate(() => console.timeStamp("bench-end"));
  const finished = new Promise((done) => browserSession.once("Tracing.tracingComplete", done));
  await browserSession.send("Tracing.end");
  await finished;
  await session.detach();
  await browserSession.detach();
  return frames(events);
}

async function heapMb(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize / 1_000_000;
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Wheels through the list, one step a frame, and counts the frames that came. */
const scroll = (page, ms) =>
  page.evaluate(async (length) => {
    const box = document.querySelector("[role=grid]");
    const begin = performance.now();
    let shown = 0;
    while (performance.now() - begin < length) {
      await new Promise((done) => requestAnimationFrame(done));
      shown += 1;
      // Slow and fast by turns: row by row, and then thousands at once.
      if (box) box.scrollTop += shown % 120 < 90 ? 40 : 20_000;
    }
    return (1_000 * shown) / (performance.now() - begin);
  }, ms);

// First rows, scrolling and memory at rest.
{
  const page = await open("#/tasks", 0);
  await page.waitForFunction(() => window.bench?.firstRows);
  const first = await page.evaluate(() => window.bench.firstRows);
  tell(`list of ${tasks}: first rows painted, without the made-up core's own time`, first.at - first.coreMs, {
    aim: "<= 100",
    unit: "ms",
  });
  await pause(500);
  let fps = 0;
  const moving = await traced(page, async () => {
    fps = await scroll(page, 5_000);
  });
  const empty = await open(EMPTY, 0);
  await empty.waitForSelector("h2");
  let fpsEmpty = 0;
  const still = await traced(empty, async () => {
    fpsEmpty = await scroll(empty, 3_000);
  });
  tell(`list of ${tasks}: frames a second while scrolling`, fps, {
    reference: fpsEmpty,
    aim: "the same",
    unit: "frames/s",
  });
  tell(`list of ${tasks}: scrolling, main thread a frame, 95th percentile`, percentile(moving, 0.95), {
    reference: percentile(still, 0.95),
    aim: "<= 16",
    unit: "ms",
  });
  tell(`list of ${tasks}: memory of the page's script`, await heapMb(page), {
    reference: await heapMb(empty),
    aim: "<= 3 x",
    unit: "MB",
  });
  await page.close();
  await empty.close();
}

// The same changes over an empty list, then over a full one.
const busy = {};
for (const [name, hash] of [
  ["empty", EMPTY],
  ["full", "#/tasks"],
]) {
  const page = await open(hash, changes);
  await page.waitForSelector(name === "full" ? ROW : "h2");
  await pause(1_000);
  busy[name] = await traced(page, () => pause(seconds * 1_000));
  if (name === "full") {
    const sent = await page.evaluate(() => window.bench.rest());
    await pause(2_500);
    const lost = await page.evaluate(async (total) => {
      // What stands in the page beside what the core says now, for every row in sight, and every change that was told.
      const query = {
        phases: [],
        servers: [],
        agents: [],
        tools: [],
        text: null,
        changedWithinMs: null,
        olderThanMs: null,
        groupBy: "need",
        sort: "newest",
      };
      const { rows } = await window.bench.call("tasks.page", { query, group: "needsYou", offset: 0, limit: 100 });
      const seen = [...document.querySelectorAll("[role=row][data-at]")]
        .map((row) => ({
          at: Number(row.dataset.at),
          cells: [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent ?? ""),
        }))
        .filter((row) => row.cells.length > 1 && row.at < rows.length);
      const wrong = seen.filter(({ at, cells }) => {
        const { progress, tool } = rows[at];
        const done =
          progress === null
            ? ""
            : progress.total
              ? `${Math.floor((100 * progress.done) / progress.total)} %`
              : String(progress.done);
        return cells[2].trim() !== done || !cells[1].includes(tool);
      });
      return { compared: seen.length, wrong: wrong.length, missing: total - window.bench.received };
    }, sent);
    tell(`${changes} changes a second: changes sent`, sent, { unit: "changes" });
    tell(`${changes} changes a second: changes lost on the way or on the screen`, lost.missing + lost.wrong, {
      aim: "0",
      unit: "changes",
    });
    if (lost.compared < 15 || lost.missing + lost.wrong !== 0) {
      console.error(
        `of ${lost.compared} rows ${lost.wrong} show something else; ${lost.missing} changes did not arrive`,
      );
      process.exitCode = 1;
    }
    tell(`${changes} changes a second: memory of the page's script afterwards`, await heapMb(page), { unit: "MB" });
  }
  await page.close();
}
tell(`${changes} changes a second: main thread a frame, 95th percentile`, percentile(busy.full, 0.95), {
  reference: percentile(busy.empty, 0.95),
  aim: "<= 16 and <= 3 x",
  unit: "ms",
});
tell(`${changes} changes a second: main thread a frame, median`, percentile(busy.full, 0.5), {
  reference: percentile(busy.empty, 0.5),
  unit: "ms",
});
await browser.close();
await site.close();
