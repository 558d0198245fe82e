// Cancel: asked in one click, and the row tells the truth whatever the server makes of it.
import { expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { IGNORES, OVERTAKES } from '../scripted-server.mjs';
import { stage } from '../stage.mjs';

const on = stage();

async function opened(nonce) {
  const { id } = await on.core.call('ci', 'work', nonce);
  const task = await on.server.task(nonce);
  const page = await openWindow(on.browser, on.core);
  await page.goto(`${on.core.url}#/tasks/${id}`);
  await page.getByRole('button', { name: /^Cancel task/ }).first().waitFor();
  return { page, task };
}

const phase = (page, word) => page.getByRole('grid').getByText(word, { exact: true }).first();

test('one click asks, and an obedient server is shown as cancelled', async () => {
  const { page } = await opened('obeyed');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await until('tasks/cancel reaches the server', () => on.server.cancels.length === 1);
  await phase(page, 'Cancelled').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a server that goes on is shown as asked, never as cancelled', async () => {
  on.server.onCancel = IGNORES;
  const { page, task } = await opened('ignored');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await phase(page, 'Cancel requested').waitFor();
  await page.getByText(/acknowledged/).first().waitFor();
  await page.getByText(/Still working/).first().waitFor();
  expect(await phase(page, 'Cancelled').count(), 'nothing is claimed').toBe(0);
  on.server.say(task, 'going on regardless');
  await page.getByText('going on regardless').first().waitFor();
  expect(await phase(page, 'Cancelled').count(), 'still nothing is claimed').toBe(0);
});

test('a task that was faster is shown as finished, with its result', async () => {
  on.server.onCancel = OVERTAKES;
  const { page } = await opened('overtaken');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await page.getByRole('grid').getByText(/^Done/).first().waitFor();
  await page.getByText(/before it could stop/i).first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
  await page.getByText('it was finished before').first().waitFor();
});

test('by keyboard a stop takes two steps, and the first one alone sends nothing', async () => {
  const { page } = await opened('keys');
  await page.keyboard.press('c');
  await page.getByRole('button', { name: /^Keep running/ }).first().waitFor();
  expect(on.server.cancels, 'nothing was sent yet').toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Keep running/ }).waitFor({ state: 'detached' });
  await page.keyboard.press('c');
  await page.getByRole('button', { name: /^Keep running/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await until('tasks/cancel reaches the server', () => on.server.cancels.length === 1);
});

test('many are cancelled at once with a count first', async () => {
  for (const nonce of ['one', 'two', 'three']) await on.core.call('ci', 'work', nonce);
  const page = await openWindow(on.browser, on.core);
  await page.goto(`${on.core.url}#/tasks`);
  await until('three rows', async () => (await page.getByRole('grid').getByText('work').count()) >= 3);
  await page.keyboard.press('j');
  await page.keyboard.press('Control+a');
  await page.getByRole('button', { name: /^Cancel 3…/ }).click();
  await page.getByRole('dialog').getByText('Ask to cancel 3 tasks?').waitFor();
  expect(on.server.cancels, 'nothing was sent yet').toEqual([]);
  await page.getByRole('dialog').getByRole('button', { name: 'Ask to cancel 3 tasks' }).click();
  await until('three stops reach the server', () => on.server.cancels.length === 3);
});
