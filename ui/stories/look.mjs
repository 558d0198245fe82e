/* Looks at one story or page: brings it up, changes its size, and says what is wrong with it. What is looked at and how
   often is decided in run.mjs. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { cut, sideways } from "./geometry.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** The longest wait for a page: CI shares two slow cores between this and a build. */
const PATIENCE_MS = 60_000;

/** A page of a browser that looks at one thing after the other. */
export class Looker {
  #page;
  #site;
  #shots;
  /** The themes and the size the page has now, so that neither is set again: a browser lays out anew for each. */
  #media = "";
  #size = null;
  /** Whether the story page is loaded and may be told to show another story. */
  #isStoryPage = false;
  #isPointed = false;

  static async open(browser, site, shots) {
    const context = await browser.newContext({ reducedMotion: "reduce", locale: "en-GB", timezoneId: "UTC" });
    context.setDefaultTimeout(PATIENCE_MS);
    const looker = new Looker();
    looker.#page = await context.newPage();
    looker.#site = site;
    looker.#shots = shots;
    return looker;
  }

  /** Loads the list of stories. */
  async list() {
    await this.#page.goto(`${this.#site}/stories.html`);
    return this.#page.evaluate(() => window.stories);
  }

  /** What is wrong with a story, in words for a person: `looks` is [{ theme, size, isLoaded, isAxe }]. One that is not
      loaded takes the page of the look before it, with what was clicked there; a story is shown in the page that is
      there when `isInPlace` says so. */
  async look(story, looks, isInPlace) {
    const page = this.#page;
    const wrong = [];
    const said = new Set();
    const hear = (text) => said.add(text);
    const onconsole = (message) => message.type() === "error" && hear(`console: ${message.text()}`);
    const onerror = (error) => hear(`error: ${error.message}`);
    page.on("console", onconsole);
    page.on("pageerror", onerror);
    try {
      for (const { theme, size, isLoaded, isAxe } of looks) {
        const at = `${story.name} (${theme}) ${size.width}x${size.height}`;
        await this.#set(theme, size, story.forced);
        if (isLoaded) await this.#load(story, theme, isInPlace);
        else {
          await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
          await settled(page);
        }
        for (const found of await page.evaluate(sideways)) wrong.push(`${at}: ${found}`);
        for (const found of await page.evaluate(cut)) wrong.push(`${at}: ${found}`);
        if (isAxe) for (const found of await violations(page)) wrong.push(`${at}: ${found}`);
        if (this.#shots)
          await page.screenshot({
            path: `${this.#shots}/${story.name.replace(/[^\w-]+/g, "_")}-${theme}-${size.width}.png`,
          });
      }
    } catch (error) {
      wrong.push(`${story.name}: ${error.message.split("\n")[0]}`);
      this.#isStoryPage = false;
    } finally {
      page.off("console", onconsole);
      page.off("pageerror", onerror);
    }
    return [...wrong, ...[...said].map((text) => `${story.name}: ${text}`)];
  }

  /** Theme and size of the page. */
  async #set(theme, size, forced) {
    const media = `${theme} ${forced === true}`;
    if (media !== this.#media)
      await this.#page.emulateMedia({
        forcedColors: forced ? "active" : "none",
        colorScheme: theme,
        reducedMotion: "reduce",
      });
    this.#media = media;
    if (size.width !== this.#size?.width || size.height !== this.#size.height)
      await this.#page.setViewportSize({ width: size.width, height: size.height });
    this.#size = size;
  }

  /** Brings a story up and does what comes first in it. */
  async #load(story, theme, isInPlace) {
    const page = this.#page;
    if (isInPlace && this.#isStoryPage) {
      // Nothing of the story lies under the pointer of the one before.
      if (this.#isPointed) await page.mouse.move(0, 0);
      await page.evaluate(([name, theme]) => window.showStory(name, theme), [story.name, theme]);
    } else {
      // From an empty page: an address that differs in its hash alone would not be loaded anew.
      await page.goto("about:blank");
      await page.goto(`${this.#site}${story.url(theme)}`);
      this.#isStoryPage = isInPlace;
    }
    this.#isPointed = story.click.length > 0;
    await page.waitForSelector("main");
    await settled(page);
    for (const selector of story.click) await page.click(selector);
    if (story.click.length > 0) await settled(page);
    for (const key of story.keys) {
      await page.keyboard.press(key);
      await settled(page);
    }
  }
}

/** What axe finds, no rule off. */
async function violations(page) {
  // Through the debugger, so that the page's content policy stays as it is; once for each loaded page.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => {
      const targets = nodes.slice(0, 3).map((node) => node.target.join(" "));
      return `axe ${id} (${help}): ${targets.join(" | ")}`;
    });
  });
  return found;
}

/** Six frames without a change of the page, at most fifteen seconds: stories have no endless motion. */
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
