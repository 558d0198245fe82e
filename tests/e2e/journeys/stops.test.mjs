// Cancel: asked in one click, and the row tells the truth whatever the server makes of it.
import { expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
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
  await page.getByRole('dialog').getByText('All 3 have ended.').waitFor();
  await page.reload();
  const results = page.getByRole('dialog');
  await results.getByText('All 3 have ended.').waitFor();
  expect(await results.getByText('cancelled, confirmed by ci').count(), 'each has its own result').toBe(3);
  expect(on.server.cancels, 'the reload asked nothing').toHaveLength(3);
  await page.keyboard.press('Escape');
  await results.waitFor({ state: 'detached' });
});

test('many are revoked at once, and a server that goes on is never called ended', async () => {
  on.server.onCancel = IGNORES;
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'runaway');
  const handles = [await agent.call('work', 'first'), await agent.call('work', 'second')];
  await on.core.call('ci', 'work', 'of a person');
  await page.goto(`${on.core.url}#/tasks?q=agent%3Arunaway`);
  await until('two rows', async () => (await page.getByRole('row').filter({ hasText: 'runaway' }).count()) === 2);
  await page.keyboard.press('j');
  await page.keyboard.press('Control+a');
  await page.getByRole('button', { name: /^Revoke 2…/ }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: 'Reason' }).fill('wrong month');
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await dialog.getByRole('button', { name: 'Revoke 2 tasks' }).click();
  await until('each was acknowledged', async () => (await dialog.getByText('acknowledged by ci, not ended yet').count()) === 2);
  expect(await dialog.getByText(/ha(s|ve) ended/).count(), 'nothing is claimed').toBe(0);
  for (const { taskId } of handles)
    expect((await agent.send('tasks/get', { taskId })).error, 'its agent no longer knows it').toBeTruthy();
  expect(on.server.cancels.map(({ nonce }) => nonce).sort(), 'and nobody else’s task was asked').toEqual(['first', 'second']);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.goBack();
  await dialog.getByText('2 tasks revoked').waitFor();
  expect(page.troubles, 'errors of the page').toEqual([]);
});
