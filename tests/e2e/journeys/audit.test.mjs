// The audit log in the window: the same rows as on the command line, found by filters, with their place in the chain.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

const SURE = { type: 'object', properties: { sure: { type: 'boolean', title: 'Go on' } }, required: ['sure'] };
const on = stage();

const grid = (page) => page.getByRole('grid', { name: 'Audit log' });
const detail = (page) => page.getByRole('complementary');

/** The rows that are drawn: number and how the hash begins. */
const drawn = (page) =>
  grid(page)
    .locator('[role="row"][data-at]:has([role="gridcell"]:nth-child(7))')
    .evaluateAll((rows) =>
      rows.map((row) => {
        const cells = [...row.querySelectorAll('[role="gridcell"]')].map((cell) => cell.textContent.trim());
        return { number: Number(cells[0].replaceAll(',', '')), hash: cells[6] };
      }),
    );
const told = async (...filter) => (await on.core.command('audit', 'list', '--limit', '1000', ...filter)).rows;
const begun = (rows) => rows.map(({ number, hash }) => ({ number, hash: hash.slice(0, 4) }));

/** Opens the log and waits for the rows that the command line has. */
async function openLog(page, search = '', ...filter) {
  await page.goto(`${on.core.url}#/audit${search}`);
  await until('the page has the rows of the command line', async () => {
    const [shown, rows] = [await drawn(page), await told(...filter)];
    return JSON.stringify(shown) === JSON.stringify(begun(rows));
  });
}

/** `refused`: how often the core has refused a call by now; the browser calls each an error. */
async function faultless(page, refused = 0) {
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  const isRefusal = (trouble) => /status of 40[04]/.test(trouble);
  expect(page.troubles.filter((trouble) => !isRefusal(trouble)), 'errors of the page').toEqual([]);
  expect(page.troubles.filter(isRefusal).length, 'refused calls').toBe(refused);
}

/** A task that was called, asked and answered, and one that was cancelled; gives their ids. */
async function scene(page) {
  const { id: answered } = await on.core.call('ci', 'work', 'answered');
  const task = await on.server.task('answered');
  on.server.ask(task, 'sure', 'Go on?', SURE);
  await page.goto(`${on.core.url}#/inbox`);
  await page.getByRole('grid').getByText('Go on?').first().waitFor();
  await page.getByRole('button', { name: /^Yes/ }).first().click();
  await until('the answer reaches the server', () => on.server.answers[0]);
  on.server.finish(task, [{ type: 'text', text: 'done' }]);
  const { id: cancelled } = await on.core.call('ci', 'work', 'cancelled');
  await on.server.task('cancelled');
  await on.core.command('tasks', 'cancel', cancelled, '--reason', 'wrong month', '--yes');
  for (const id of [answered, cancelled])
    await until('its end is in the log', async () => (await told('--task', id, '--verb', 'ended')).length === 1);
  return { answered, cancelled };
}

test('a call, an answer and a cancel stand in the log with who did them, as the command line has them', async () => {
  const page = await openWindow(on.browser, on.core);
  await scene(page);
  await openLog(page);
  const rows = await told();
  const { who } = rows.find((row) => row.actor.startsWith('person:'));
  for (const did of ['called a tool', 'answered', 'asked to cancel'])
    await grid(page).getByRole('row').filter({ hasText: did }).filter({ hasText: who }).first().waitFor();
  await grid(page).getByRole('row').filter({ hasText: 'ended the task' }).filter({ hasText: 'ci' }).first().waitFor();
  await faultless(page);
});

test('a filter shows the rows that the same filter has on the command line, and reload and back keep it', async () => {
  const page = await openWindow(on.browser, on.core);
  const { cancelled } = await scene(page);
  await openLog(page, '?actor=server', '--actor', 'server');
  await openLog(page, `?task=${cancelled}`, '--task', cancelled);
  await openLog(page, '?verb=stopBegun&verb=answerBegun', '--verb', 'stopBegun', '--verb', 'answerBegun');
  await page.reload();
  await until('the filter is still there', async () => (await drawn(page)).length === 2);
  await page.goBack();
  await until('back leads to the filter before', async () => (await drawn(page)).length === (await told('--task', cancelled)).length);

  // By keyboard alone, from no filter.
  await page.goto(`${on.core.url}#/audit`);
  await grid(page).getByRole('row').first().waitFor();
  await page.keyboard.press('/');
  await page.getByRole('dialog').getByRole('combobox').selectOption({ label: 'Words of the note' });
  await page.getByRole('dialog').getByRole('textbox').fill('wrong month');
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Escape');
  await page.getByText('1 row matches').waitFor();
  expect(begun(await told('--text', 'wrong month'))).toEqual(await drawn(page));
  await page.goto(`${on.core.url}#/audit?actor=martian`);
  await page.getByText('unknown kind').waitFor();
  await faultless(page, 1);
});

test('a row opens with the rows beside it and says what it does not show', async () => {
  const page = await openWindow(on.browser, on.core);
  await scene(page);
  const rows = await told();
  const said = rows.find((row) => row.verb === 'ended');
  await page.goto(`${on.core.url}#/audit/${said.number}`);
  const shown = await on.core.command('audit', 'show', String(said.number));
  await detail(page).getByRole('heading', { name: 'Place in the chain' }).waitFor();
  for (const one of [shown.before, shown.row, shown.after].filter(Boolean))
    await detail(page).getByRole('listitem').filter({ hasText: String(one.number) }).filter({ hasText: 'matches' }).first().waitFor();
  await detail(page).getByText('Each of these rows has the hash of the row before it.').waitFor();
  for (const text of [...shown.unknown, shown.row.hash, shown.previous, shown.row.actor, shown.row.subject])
    await detail(page).getByText(text, { exact: true }).first().waitFor();
  expect(shown.unknown.length, 'what a server says is not what was observed').toBeGreaterThan(0);
  await faultless(page);

  await grid(page).getByRole('row').nth(2).click();
  const before = page.url();
  await page.keyboard.press('j');
  await until('the next row is open', () => page.url() !== before);
  await page.keyboard.press('Escape');
  await until('the row is closed', async () => (await detail(page).count()) === 0);
  await until('the row has the focus', () => page.evaluate(() => document.activeElement?.getAttribute('role') === 'row'));
  await page.goto(`${on.core.url}#/audit/99999`);
  await detail(page).getByText(`The log has rows 1 to ${rows[0].number}.`).waitFor();
  await faultless(page, 1);
});

test('a long log is read to its first row, and what is written meanwhile comes when it is asked for', async () => {
  const page = await openWindow(on.browser, on.core);
  const agent = await addAgent(page, on.core, 'busy');
  const inAll = ({ note }) => Number(/(\d+) in all/.exec(note)?.[1] ?? 0);
  const receipts = (rows) => rows.filter(({ verb }) => verb === 'called').reduce((sum, row) => sum + inAll(row), 0);
  const before = receipts(await told());
  for (let nonce = 0; nonce < 60; nonce += 1) await agent.call('work', `task-${nonce}`);
  // Receipts come in batches up to a second later; the page shows the rows that were there when it opened.
  const { length } = await until('the receipts of all calls', async () => {
    const rows = await told();
    return receipts(rows) >= before + 60 ? rows : null;
  });
  expect(length, 'more than a page of rows').toBeGreaterThan(120);
  await page.goto(`${on.core.url}#/audit`);
  await page.getByText(`${length} rows`).waitFor();
  const seen = new Set();
  await page.keyboard.press('j');
  await until('row 1 is drawn', async () => {
    for (const { number } of await drawn(page)) seen.add(number);
    await page.keyboard.press('PageDown');
    return seen.has(1);
  });
  expect([...seen].sort((one, other) => one - other), 'each row was there').toEqual(Array.from({ length }, (_, at) => at + 1));

  await page.keyboard.press('Home');
  await until('the newest row is drawn', async () => (await drawn(page))[0].number === length);
  await agent.call('work', 'meanwhile');
  const newer = page.getByRole('button', { name: /Show \d+ newer rows?/ });
  await newer.waitFor();
  expect((await drawn(page))[0].number, 'the list stays').toBe(length);
  await faultless(page);
  await newer.click();
  await until('the button brings it', async () => (await drawn(page))[0].number > length);
  await newer.waitFor({ state: 'detached' });
  await faultless(page);
});

/** Changes a text in the database of a core that is stopped, as somebody with the file could. */
async function forge(home, from, to) {
  let changed = 0;
  for (const name of await readdir(home, { recursive: true })) {
    const path = join(home, name);
    const bytes = await readFile(path).catch(() => null);
    if (bytes === null || !bytes.includes('SQLite format 3')) continue;
    for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at + 1)) changed += bytes.write(to, at);
    await writeFile(path, bytes);
  }
  return changed;
}

test('a row that was changed in the database is shown as changed, in the list and in its detail', async () => {
  const page = await openWindow(on.browser, on.core);
  await scene(page);
  await on.core.kill('SIGTERM');
  expect(await forge(on.core.home, 'wrong month', 'right month'), 'the note is in the file').toBeGreaterThan(0);
  await on.core.start();
  await page.goto(`${on.core.url}#/audit?verb=stopBegun`);
  const row = grid(page).getByRole('row').filter({ hasText: 'right month' });
  await row.getByText('changed', { exact: true }).waitFor();
  await row.click();
  await detail(page).getByRole('listitem').filter({ hasText: 'changed' }).first().waitFor();
  await detail(page).getByText('Its fields do not give its hash').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
});
