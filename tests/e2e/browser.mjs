// Chromium as a person has it: a window of a size, a theme, and a page that signed in with the code of the terminal.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { LIMIT_MS } from './level.mjs';

const require = createRequire(import.meta.url);
const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';

export async function openBrowser() {
  // As root Chromium has no sandbox of its own; the pages are ours and loopback only.
  return chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] });
}

/** Opens the window of a core: a page of its own, signed in. Errors of the page are collected in `page.troubles`. */
export async function openWindow(browser, core, options = {}) {
  const { theme = 'light', width = 1280, height = 800, context: given } = options;
  const context = given ?? (await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: options.reducedMotion ?? 'reduce' }));
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT_MS);
  page.troubles = [];
  page.on('pageerror', (error) => page.troubles.push(String(error)));
  page.on('console', (message) => {
    // Asking whether there is a session yet is answered with 401 by design; the browser calls that an error.
    if (message.type() === 'error' && !message.text().includes('status of 401')) page.troubles.push(message.text());
    // A value that stands still because what it belonged to is gone: the page would go on with what was true once.
    if (message.text().includes('derived_inert')) page.troubles.push(message.text());
  });
  await page.goto(core.url);
  if (!given) await signIn(page, core);
  return page;
}

/** Types the one-time code that the terminal showed. */
export async function signIn(page, core) {
  const code = page.getByRole('textbox', { name: /code/i });
  await code.waitFor();
  await code.fill(await core.freshCode());
  await page.keyboard.press('Enter');
  await page.getByRole('navigation').first().waitFor();
}

/** Everything axe finds on the page, as lines; no rule is off. */
export async function accessibilityFaults(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) {
    await page.addInitScript({ content: '' });
    const source = await readFile(require.resolve('axe-core/axe.min.js'), 'utf8');
    // Through the debugger: the page's own policy refuses scripts that are put into it, which is what it is for.
    await page.evaluate(source);
  }
  // Half of a fade has half of its contrast.
  await page.waitForFunction(() =>
    document
      .getAnimations()
      .every((one) => one.playState !== 'running' || one.effect?.getComputedTiming().iterations === Infinity),
  );
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(' ')}: ${node.failureSummary}`));
}

/** Elements that are wider than the window, or text that is cut without an ellipsis. */
export async function geometryFaults(page) {
  return page.evaluate(() => {
    const faults = [];
    const { clientWidth, scrollWidth, clientHeight, scrollHeight } = document.documentElement;
    if (scrollWidth > clientWidth) faults.push(`the page is ${scrollWidth - clientWidth} px too wide`);
    if (scrollHeight > clientHeight) faults.push(`the page is ${scrollHeight - clientHeight} px too high`);
    for (const button of document.querySelectorAll('button, [role="tab"], h1, h2')) {
      if (button.classList.contains('sr')) continue;
      if (button.scrollWidth > button.clientWidth + 1 && getComputedStyle(button).textOverflow !== 'ellipsis' && button.clientWidth > 0) {
        faults.push(`"${button.textContent.trim().slice(0, 40)}" is cut`);
      }
    }
    return faults;
  });
}
