// What fills the windows of agents, as people see it, and what they decide about results and tasks that cost too much.
import { expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

/** Lines that no tokenizer makes small: about 20,000 tokens. */
const REPORT = Array.from({ length: 1_000 }, (_, n) => `${n}: path/to/file-${n * 7919}.txt, ${n * 104729} bytes, changed on day ${n % 365}`).join('\n');

const on = stage();

/** An agent that is counted exactly, in a window of 200,000 tokens. */
async function counted(page, name) {
  const agent = await addAgent(page, on.core, name);
  await on.core.command('budget', 'set', name, '--tokenizer', 'o200k', '--window', '200000');
  await agent.send('tools/list');
  return agent;
}

/** Sets a limit of an agent where people do: on the Budgets screen. */
async function setLimit(page, agent, what, tokens, then) {
  await page.goto(`${on.core.url}#/budgets`);
  await page.getByRole('button', { name: 'Limits…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Agent' }).selectOption(agent);
  await dialog.getByRole('textbox', { name: what }).fill(tokens);
  await dialog.getByRole('combobox', { name: `${what}: action above the limit` }).selectOption({ label: then });
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Rule saved').first().waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
}

/** Reads a result to its end, slice by slice. */
async function read(agent, uri) {
  let whole = '';
  for (let offset = 0; offset !== null; ) {
    const slice = await agent.slice(uri, offset);
    whole += slice.text;
    offset = slice.next;
  }
  return whole;
}

test('the Budgets screen shows what stands in the window of an agent, whose tokens they are, and how exact that is', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await counted(page, 'reader');
  const { content } = await agent.call('echo', 'quick');
  expect(content, 'a quick call goes through').toHaveLength(1);
  await page.goto(`${on.core.url}#/budgets`);
  const row = page.getByRole('row').filter({ hasText: 'reader' }).first();
  await row.getByText('of 200k').waitFor();
  // Counting comes after the call: the figure may still grow between the command and the page.
  await until('the page shows the figure of the command line', async () => {
    const { budget } = await on.core.command('budget', 'reader');
    return row.getByText(`${budget.now.tokens.toLocaleString('en')} of 200k`, { exact: true }).isVisible();
  });
  await row.click();
  await page.getByText('reader by source').waitFor();
  await page.getByText('GPT o200k · exact').first().waitFor();
  await page.getByText('do not pass through Taskwarden and are not in these figures').waitFor();
  await page.getByRole('slider', { name: 'Tokens of All agents, 24 h' }).press('End');
  await page.getByRole('slider').getByText('Came in').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a limit that is set in the window holds a result, the inbox gives it in parts, and the agent reads on', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await counted(page, 'reader');
  await setLimit(page, 'reader', 'One result', '2,000', 'ask a person');
  const handle = await agent.call('work', 'report');
  on.server.finish(await on.server.task('report'), [{ type: 'text', text: REPORT }]);
  await page.goto(`${on.core.url}#/inbox`);
  await page.getByRole('grid').getByText(/A result of .* tokens is held/).first().waitFor();
  await page.getByText('How should reader get it?').waitFor();
  await page.getByText('path/to/file-0.txt').first().waitFor();
  expect((await agent.task(handle.taskId)).status, 'it does not have it yet').toBe('working');
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.getByRole('radio', { name: /In parts/ }).check();
  await page.keyboard.press('Control+Enter');
  const ended = await until('the agent goes on', async () => {
    const seen = await agent.task(handle.taskId);
    return seen.status === 'completed' ? seen : null;
  });
  const [text, link] = ended.result.content;
  expect(text.text, 'it reads how large it is').toMatch(/tokens \(GPT o200k, exact\)/);
  expect(text.text.length, 'and only how it begins').toBeLessThan(REPORT.length / 4);
  expect(await read(agent, link.uri), 'and then the whole, in slices').toBe(REPORT);
  await page.getByText('Nothing needs you').filter({ visible: true }).first().waitFor();
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a task that says too much asks in the inbox, goes on when it is let, and stops when it is not', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await counted(page, 'talker');
  await setLimit(page, 'talker', 'One task', '1,000', 'ask a person');
  for (const [nonce, button] of [['goes-on', 'Let it continue'], ['stops', 'Ask to cancel']]) {
    await agent.call('work', nonce);
    const task = await on.server.task(nonce);
    on.server.say(task, REPORT.slice(0, 3_500));
    on.server.say(task, REPORT.slice(3_500, 7_000));
    await page.goto(`${on.core.url}#/inbox`);
    await page.getByRole('grid').getByText('work exceeded 1,000 tokens').first().waitFor();
    await page.getByRole('button', { name: button }).first().click();
    await page.getByText('Nothing needs you').filter({ visible: true }).first().waitFor();
    if (nonce === 'stops') await until('the server is asked to stop', () => on.server.cancels.some((one) => one.nonce === nonce));
    else expect(on.server.cancels, 'nobody stops what goes on').toEqual([]);
  }
  expect(page.troubles, 'errors of the page').toEqual([]);
});
