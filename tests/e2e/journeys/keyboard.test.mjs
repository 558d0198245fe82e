// By keyboard alone: focus is always somewhere that a person can see, also where a narrow window lays the detail over
// the list, and what is typed at once after a key is not lost.
import { expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { stage } from '../stage.mjs';

const on = stage();

/** Where focus is: in a detail, on a row, elsewhere in sight, or nowhere that is seen. */
const focus = (page) =>
  page.evaluate(() => {
    const at = document.activeElement;
    if (at === null || at === document.body || !at.checkVisibility()) return 'nowhere';
    const { left, top, width, height } = at.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20));
    if (over === null || !(at.contains(over) || over.contains(at))) return 'under something';
    return at.closest('aside') !== null ? 'detail' : at.matches('[role=row]') ? 'row' : 'elsewhere';
  });

for (const width of [720, 1280]) {
  test(`a detail opens and closes by keyboard, and focus is never lost, ${width} wide`, async () => {
    const page = await openWindow(on.browser, on.core, { width, height: 600 });
    const agent = await addAgent(page, on.core, 'reader');
    await agent.call('work', 'runs');
    await on.server.task('runs');
    for (const place of ['tasks', 'servers', 'agents', 'audit']) {
      await page.goto(`${on.core.url}#/${place}`);
      await page.getByRole('main').locator('[role=row][data-at]').first().waitFor();
      await page.keyboard.press('j');
      await until(`${place}: the row has focus`, async () => (await focus(page)) === 'row');
      await page.keyboard.press('Enter');
      await page.getByRole('main').locator('aside').waitFor();
      const opened = width === 720 ? 'detail' : 'row';
      await until(`${place}: focus can be seen`, async () => (await focus(page)) === opened);
      await page.keyboard.press('Escape');
      await until(`${place}: focus is back on the row`, async () => (await focus(page)) === 'row');
    }
    expect(page.troubles, 'errors of the page').toEqual([]);
  });
}

test('what is typed right after the key of the search is not lost, and Esc of the query leads to the rows', async () => {
  await on.core.call('ci', 'work', 'found');
  await on.server.task('found');
  const page = await openWindow(on.browser, on.core);
  await page.goto(`${on.core.url}#/tasks`);
  await page.getByRole('grid').getByText('work').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('ci');
  await until('the whole word stands there', async () => (await page.getByRole('searchbox').inputValue()) === 'ci');
  await page.getByText('1 found').waitFor();
  await page.keyboard.press('Enter');
  await until('focus is on the row', async () => (await focus(page)) === 'row');
  await page.keyboard.press('q');
  await page.getByRole('textbox', { name: 'Filter as text' }).waitFor();
  await page.keyboard.press('Escape');
  await until('focus is on the row', async () => (await focus(page)) === 'row');
});
