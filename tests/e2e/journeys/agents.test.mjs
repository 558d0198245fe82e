// Agents that go through the gateway: added, watched, answered for and cut off in the window.
import { expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

const QUESTION = { type: 'object', properties: { ticket: { type: 'string', title: 'Change ticket', minLength: 3 } }, required: ['ticket'] };
const on = stage();

test('an agent is added by its name, its token is shown once, and what it starts shows by itself', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'night-owl');
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.getByRole('button', { name: 'I have it' }).click();
  expect(await page.locator('body').textContent(), 'the token is gone from the page').not.toMatch(/twa_/);
  await page.goto(`${on.core.url}#/tasks`);
  const handle = await agent.call('work', 'owl');
  expect(handle).toMatchObject({ resultType: 'task', status: 'working' });
  expect(handle.taskId, 'our own id, not the server\'s').toMatch(/^hdl_/);
  const row = page.getByRole('row').filter({ hasText: 'night-owl' });
  // How soon is measured by the bench, on a machine that does nothing else.
  await row.waitFor();
  const task = await on.server.task('owl');
  on.server.finish(task, [{ type: 'text', text: 'done by night' }]);
  const ended = await until('the agent sees the end', async () => {
    const seen = await agent.task(handle.taskId);
    return seen.status === 'completed' ? seen : null;
  });
  expect(ended.result.content).toEqual([{ type: 'text', text: 'done by night' }]);
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a question of its task is answered in the window while the agent sees it working', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'asker');
  const handle = await agent.call('work', 'ask');
  const task = await on.server.task('ask');
  on.server.ask(task, 'go', 'Which ticket covers this?', QUESTION);
  await page.goto(`${on.core.url}#/inbox`);
  await page.getByRole('grid').getByText('Which ticket covers this?').first().waitFor();
  const seen = await agent.task(handle.taskId);
  expect(seen.status, 'people are asked, not the agent').toBe('working');
  expect(seen.inputRequests).toBeUndefined();
  await page.getByRole('textbox', { name: /Change ticket/ }).waitFor();
  await page.keyboard.press('r');
  await page.keyboard.type('CHG-7');
  await page.keyboard.press('Control+Enter');
  const answer = await until('the answer reaches the server', () => on.server.answers[0]);
  expect(answer).toMatchObject({ nonce: 'ask', action: 'accept', content: { ticket: 'CHG-7' } });
});

test('a revoked agent is cut off at once and what it started is asked to stop', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'runaway');
  const handle = await agent.call('work', 'never-ending');
  await on.server.task('never-ending');
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('row').filter({ hasText: 'runaway' }).click();
  await page.getByRole('button', { name: 'Revoke…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 open task is asked to cancel').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await dialog.getByRole('button', { name: 'Revoke runaway' }).click();
  await page.getByRole('row').filter({ hasText: 'runaway' }).getByText('Revoked').waitFor();
  expect((await agent.send('tasks/get', { taskId: handle.taskId })).status, 'its token opens nothing').toBe(403);
  await until('the server was asked to stop', () => on.server.cancels.some((one) => one.nonce === 'never-ending'));
});

test('a result is held back until a person delivers it', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'held-back');
  const handle = await agent.call('work', 'report');
  const task = await on.server.task('report');
  await page.goto(`${on.core.url}#/tasks/${handle.taskId}`);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Hold the result' }).click();
  await page.getByText('Its result will be held').waitFor();
  on.server.finish(task, [{ type: 'text', text: 'a long report' }]);
  await page.getByText('The result is held').waitFor();
  expect((await agent.task(handle.taskId)).status, 'it does not have it yet').toBe('working');
  await page.getByRole('button', { name: 'Deliver it' }).click();
  await until('the agent has it', async () => (await agent.task(handle.taskId)).status === 'completed');
});
