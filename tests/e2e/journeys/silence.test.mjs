// A core that is frozen, killed, or gone before the page came: the page says so in time, keeps what it showed with its
// time, offers nothing that needs the core, and goes on by itself.
import { expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

const on = stage();
const LOST = 'The core does not answer.';
/** Issue 11: people are told within 10 s. */
const TOLD_WITHIN_MS = 10_000;
/** What a busy machine may take to draw it. */
const DRAWN_WITHIN_MS = 3_000;

const lost = (page) => page.getByRole('region', { name: 'Connection to the core' });

async function openTask(nonce, options) {
  await on.core.call('ci', 'work', nonce);
  await on.server.task(nonce);
  const page = await openWindow(on.browser, on.core, options);
  await page.goto(`${on.core.url}#/tasks`);
  await page.getByRole('grid').getByText('work').first().click();
  await page.getByRole('button', { name: /Cancel task/ }).waitFor();
  return page;
}

for (const [theme, width, height] of [['light', 1280, 800], ['dark', 900, 600]]) {
  test(`a frozen core is told within ten seconds and goes on when it answers, ${theme}`, async () => {
    const page = await openTask(`frozen-${theme}`, { theme, width, height });
    on.core.freeze();
    const begun = Date.now();
    await lost(page).getByText(LOST).waitFor({ timeout: TOLD_WITHIN_MS + DRAWN_WITHIN_MS });
    const told = Date.now() - begun;
    console.log(`told after ${told} ms`);
    expect(told, 'time until it is told').toBeLessThan(TOLD_WITHIN_MS + DRAWN_WITHIN_MS);
    await lost(page).getByText(/since \d\d:\d\d:\d\d/).waitFor();
    expect(await page.getByRole('grid').getByText('work').count(), 'the last rows stay').toBeGreaterThan(0);
    const cancel = page.getByRole('button', { name: /Cancel task/ });
    expect([await cancel.getAttribute('aria-disabled'), await cancel.getAttribute('title')], 'nothing that needs the core').toEqual(['true', 'Not possible now: the core does not answer.']);
    expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
    expect(await geometryFaults(page), 'what does not fit').toEqual([]);
    if (process.env.TASKWARDEN_SHOTS) await page.screenshot({ path: `${process.env.TASKWARDEN_SHOTS}/core-frozen-${theme}.png` });

    // Another place and back: the rows are those of before, not an empty table.
    await page.keyboard.press('Escape');
    await page.goto(`${on.core.url}#/servers`);
    await page.goto(`${on.core.url}#/tasks`);
    await page.getByRole('grid').getByText('work').first().waitFor();
    if (process.env.TASKWARDEN_SHOTS) await page.screenshot({ path: `${process.env.TASKWARDEN_SHOTS}/core-frozen-back-${theme}.png` });

    on.core.thaw();
    await lost(page).waitFor({ state: 'detached' });
    await page.getByRole('grid').getByText('work').first().click();
    await cancel.click();
    await until('the request to cancel arrives', () => on.server.cancels.length);
    await page.context().close();
  });
}

test('a page that is loaded while the core is frozen says so instead of staying blank', async () => {
  const page = await openTask('reloaded');
  // The files of the page are cached as by any browser; only the core is silent.
  await page.route(/\/ui\//, async (route) => {
    await new Promise(() => undefined);
    await route.continue();
  });
  await page.reload();
  await page.getByText(LOST).waitFor({ timeout: TOLD_WITHIN_MS + DRAWN_WITHIN_MS });
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.getByRole('grid').getByText('work').first().waitFor();
  await page.context().close();
});

test('a killed core leaves the rows with their time in every place', async () => {
  const page = await openTask('killed');
  await on.core.kill('SIGKILL');
  await lost(page).getByText(/since \d\d:\d\d:\d\d/).waitFor({ timeout: TOLD_WITHIN_MS });
  for (const place of ['inbox', 'servers', 'budgets', 'audit', 'settings', 'tasks']) {
    await page.goto(`${on.core.url}#/${place}`);
    await page.getByRole('heading').first().waitFor();
    expect(await geometryFaults(page), place).toEqual([]);
    if (process.env.TASKWARDEN_SHOTS) await page.screenshot({ path: `${process.env.TASKWARDEN_SHOTS}/core-killed-${place}.png` });
  }
  await page.getByRole('grid').getByText('work').first().waitFor();
  await on.core.start();
  await page.getByRole('grid').getByText('Working', { exact: true }).first().waitFor();
  await page.context().close();
});
