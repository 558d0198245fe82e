// Cancel: asked in one click, and the row tells the truth whatever the server makes of it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openBrowser, openWindow } from '../browser.mjs';
import { Core } from '../core.mjs';
import { until } from '../level.mjs';
import { IGNORES, OVERTAKES, ScriptedServer } from '../scripted-server.mjs';

let browser;
let core;
let server;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

beforeEach(async () => {
  core = await (await Core.create()).start();
  server = await new ScriptedServer('ci').start();
  await core.addServer('ci', server.url);
});

afterEach(async () => {
  const { violations } = server;
  await server.stop();
  await core.remove();
  expect(violations, 'what a strict server would refuse').toEqual([]);
});

async function opened(nonce) {
  const { id } = await core.call('ci', 'work', nonce);
  const task = await server.task(nonce);
  const page = await openWindow(browser, core);
  await page.goto(`${core.url}#/tasks/${id}`);
  await page.getByRole('button', { name: /^Cancel task/ }).first().waitFor();
  return { page, task };
}

const phase = (page, word) => page.getByRole('grid').getByText(word, { exact: true }).first();

test('one click asks, and an obedient server is shown as cancelled', async () => {
  const { page } = await opened('obeyed');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await until('tasks/cancel reaches the server', () => server.cancels.length === 1);
  await phase(page, 'Cancelled').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a server that goes on is shown as asked, never as cancelled', async () => {
  server.onCancel = IGNORES;
  const { page, task } = await opened('ignored');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await phase(page, 'Cancellation asked').waitFor();
  await page.getByText(/acknowledged/).first().waitFor();
  await page.getByText(/Still working/).first().waitFor();
  expect(await phase(page, 'Cancelled').count(), 'nothing is claimed').toBe(0);
  server.say(task, 'going on regardless');
  await page.getByText('going on regardless').first().waitFor();
  expect(await phase(page, 'Cancelled').count(), 'still nothing is claimed').toBe(0);
});

test('a task that was faster is shown as finished, with its result', async () => {
  server.onCancel = OVERTAKES;
  const { page } = await opened('overtaken');
  await page.getByRole('button', { name: /^Cancel task/ }).first().click();
  await page.getByRole('grid').getByText(/^Done/).first().waitFor();
  await page.getByText(/before it could stop/i).first().waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Back' }).click();
  await page.getByRole('tab', { name: /Result/ }).click();
  await page.getByText('it was finished before').first().waitFor();
});

test('by keyboard a stop takes two steps, and the first one alone sends nothing', async () => {
  const { page } = await opened('keys');
  await page.keyboard.press('c');
  await page.getByRole('button', { name: /^Keep running/ }).first().waitFor();
  expect(server.cancels, 'nothing was sent yet').toEqual([]);
  await page.keyboard.press('Escape');
  await page.keyboard.press('c');
  await page.getByRole('button', { name: /^Keep running/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await until('tasks/cancel reaches the server', () => server.cancels.length === 1);
});

test('many are cancelled at once with a count first', async () => {
  for (const nonce of ['one', 'two', 'three']) await core.call('ci', 'work', nonce);
  const page = await openWindow(browser, core);
  await page.goto(`${core.url}#/tasks`);
  await until('three rows', async () => (await page.getByRole('grid').getByText('work').count()) >= 3);
  await page.keyboard.press('j');
  await page.keyboard.press('Control+a');
  await page.getByRole('button', { name: /^Cancel…/ }).click();
  await page.getByRole('dialog').getByText('Ask to cancel 3 tasks?').waitFor();
  expect(server.cancels, 'nothing was sent yet').toEqual([]);
  await page.getByRole('dialog').getByRole('button', { name: 'Ask to cancel 3 tasks' }).click();
  await until('three stops reach the server', () => server.cancels.length === 3);
});
