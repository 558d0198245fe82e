// Questions in the inbox, answered as people answer them: by keyboard, late, twice, or not at all.
import { expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

const QUESTION = {
  type: 'object',
  properties: {
    ticket: { type: 'string', title: 'Change ticket', minLength: 3 },
    limit: { type: 'number', title: 'Roll back above', minimum: 0, maximum: 5, default: 1.5 },
  },
  required: ['ticket'],
};

const on = stage();

/** A task that waits for an answer, shown in a window of its own. */
async function asked(nonce, schema = QUESTION) {
  const { id } = await on.core.call('ci', 'work', nonce);
  const task = await on.server.task(nonce);
  on.server.ask(task, 'go', `How should ${nonce} roll out?`, schema);
  return { id, task };
}

/** Goes into the form by its key, once the form is there. */
async function enterForm(page) {
  await page.getByRole('textbox', { name: /Change ticket/ }).waitFor();
  await page.keyboard.press('r');
}

const row = (page, text) => page.getByRole('grid').getByText(text).first();

test('a question is answered by keyboard and the task goes on', async () => {
  const { task } = await asked('alpha');
  const page = await openWindow(on.browser, on.core);
  await row(page, 'How should alpha roll out?').waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await enterForm(page);
  await page.keyboard.type('CHG-1');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Nothing needs you').filter({ visible: true }).first().waitFor();
  const answer = await until('the answer reaches the server', () => on.server.answers[0]);
  expect(answer).toMatchObject({ nonce: 'alpha', key: 'go', action: 'accept', content: { ticket: 'CHG-1', limit: 1.5 } });
  on.server.finish(task, [{ type: 'text', text: 'rolled out' }]);
  await page.keyboard.press('g');
  await page.keyboard.press('t');
  await page.getByRole('grid').getByText('Done').first().waitFor();
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('an answer is held back for a moment and can be taken back', async () => {
  await asked('undone');
  const page = await openWindow(on.browser, on.core);
  await row(page, 'How should undone roll out?').waitFor();
  await enterForm(page);
  await page.keyboard.type('CHG-2');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('button', { name: /Undo/ }).first().click();
  await row(page, 'How should undone roll out?').waitFor();
  expect(await page.getByRole('textbox', { name: /Change ticket/ }).inputValue(), 'what was typed is kept').toBe('CHG-2');
  expect(on.server.answers, 'nothing left the machine').toEqual([]);
});

test('what does not fit the form is told at its field and nothing is sent', async () => {
  await asked('wrong');
  const page = await openWindow(on.browser, on.core);
  await row(page, 'How should wrong roll out?').waitFor();
  await enterForm(page);
  await page.keyboard.type('x');
  await page.getByRole('textbox', { name: /Roll back above/ }).fill('seven');
  await page.keyboard.press('Control+Enter');
  const field = page.getByRole('textbox', { name: /Change ticket/ });
  await until('focus is on the first field to correct', () => field.evaluate((element) => element === document.activeElement));
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  expect(await page.getByRole('textbox', { name: /Roll back above/ }).getAttribute('aria-invalid')).toBe('true');
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(on.server.answers).toEqual([]);
});

test('a decline is an outcome of its own', async () => {
  await asked('declined');
  const page = await openWindow(on.browser, on.core);
  await row(page, 'How should declined roll out?').waitFor();
  await page.getByRole('button', { name: /^Decline/ }).click();
  const answer = await until('the decline reaches the server', () => on.server.answers[0]);
  expect(answer).toMatchObject({ key: 'go', action: 'decline' });
  expect(answer.content, 'a decline carries nothing').toBeUndefined();
});

test('a draft survives a closed window and a restarted core', async () => {
  await asked('drafted');
  const page = await openWindow(on.browser, on.core);
  await row(page, 'How should drafted roll out?').waitFor();
  await enterForm(page);
  await page.keyboard.type('CHG-DRAFT');
  await page.getByText('Draft kept').first().waitFor();
  await page.context().close();
  await on.core.kill('SIGKILL');
  await on.core.start();
  const again = await openWindow(on.browser, on.core);
  await row(again, 'How should drafted roll out?').waitFor();
  await enterForm(again);
  await until('the draft is back', async () => (await again.getByRole('textbox', { name: /Change ticket/ }).inputValue()) === 'CHG-DRAFT');
});

test('of two windows the first answer counts and the second is told who was first', async () => {
  await asked('twice');
  const first = await openWindow(on.browser, on.core);
  const second = await openWindow(on.browser, on.core);
  for (const page of [first, second]) {
    await row(page, 'How should twice roll out?').waitFor();
    await enterForm(page);
    await page.keyboard.type(page === first ? 'FIRST' : 'SECOND');
  }
  await first.keyboard.press('Control+Enter');
  await second.getByText(/Answered by/).first().waitFor();
  await until('one answer reaches the server', () => on.server.answers.length > 0);
  expect(on.server.answers, 'one answer, the first').toHaveLength(1);
  expect(on.server.answers[0].content.ticket).toBe('FIRST');
});

test('a link shows its host apart and opens only by a click', async () => {
  await on.core.call('ci', 'work', 'linked');
  const task = await on.server.task('linked');
  on.server.askLink(task, 'visit', 'Please confirm the export.', 'https://xn--80ak6aa92e.example/confirm?a=1');
  const page = await openWindow(on.browser, on.core);
  await page.getByText('xn--80ak6aa92e.example').first().waitFor();
  expect(page.context().pages(), 'nothing opened by itself').toHaveLength(1);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
});

test('text of a server stays text', async () => {
  const { task } = await asked('hostile');
  const hostile = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script> \u202Egnp.exe \u001b[31mred';
  on.server.ask(task, 'evil', hostile, { type: 'object', properties: { ['<b>bold</b>']: { type: 'string', title: hostile, description: 'x'.repeat(5_000) } } });
  const page = await openWindow(on.browser, on.core);
  await page.getByText('<img src=x').first().waitFor();
  expect(await page.title()).not.toContain('owned');
  expect(await page.locator('img[src="x"]').count(), 'no element was made of it').toBe(0);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
});
