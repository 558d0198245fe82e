// The second step before an answer reaches a call that may be destructive.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { accessibilityFaults, openBrowser, openWindow } from '../browser.mjs';
import { Core, PROGRAM } from '../core.mjs';
import { until } from '../level.mjs';

let browser;
let core;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  core = await (await Core.create()).start();
  await core.command('servers', 'add', 'demo', '--yes', '--', PROGRAM, 'demo-server');
});
afterEach(() => core.remove());

test('a destructive answer is said in words, and the same key pressed twice at once sends nothing', async () => {
  await core.command('call', 'demo', 'tidy_downloads');
  const page = await openWindow(browser, core);
  await page.getByRole('checkbox').first().waitFor();
  await page.keyboard.press('r');
  await page.keyboard.press('Space');
  const sending = page.getByText('Sending your answer to demo');
  // Both presses within one turn of the page: no machine is slow enough to make them two decisions.
  await page.evaluate(() => {
    for (let n = 0; n < 2; n += 1)
      (document.activeElement ?? document.body).dispatchEvent(
        new KeyboardEvent('keydown', { key: 'Enter', code: 'Enter', ctrlKey: true, bubbles: true, cancelable: true }),
      );
  });
  const asks = page.getByRole('dialog');
  await asks.getByText('What will be sent').waitFor();
  expect(await asks.textContent()).toMatch(/Go ahead\s*Yes/);
  expect(await asks.textContent(), 'titles, not values').toMatch(/When a name is taken\s*Leave the file where it is/);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await page.evaluate(() => {
    (document.activeElement ?? document.body).dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Enter', code: 'Enter', ctrlKey: true, repeat: true, bubbles: true, cancelable: true }),
    );
  });
  expect(await sending.count(), 'a key that is held confirms nothing').toBe(0);
  await until('a press of its own sends it', async () => {
    await page.keyboard.press('Control+Enter');
    return (await sending.count()) > 0;
  });
});
