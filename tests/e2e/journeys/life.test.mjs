// From nothing to a first task, and through everything that goes away and comes back.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openBrowser, openWindow, signIn } from '../browser.mjs';
import { Core } from '../core.mjs';
import { until } from '../level.mjs';
import { ScriptedServer } from '../scripted-server.mjs';

let browser;
let core;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());
beforeEach(async () => {
  core = await (await Core.create()).start();
});
afterEach(() => core.remove());

test('the first result is there within a minute of the first screen, by keyboard alone', async () => {
  const page = await openWindow(browser, core);
  const begun = Date.now();
  await page.getByRole('heading', { name: 'Three ways to start' }).waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await page.getByRole('navigation', { name: 'Views' }).count(), 'there is nothing to view yet').toBe(0);
  await page.keyboard.press('1');
  await page.getByRole('heading', { name: 'How should 8 sample files be sorted?' }).waitFor();
  await page.getByRole('radio').first().waitFor();
  expect(await page.locator('body').textContent(), 'the question names no path').not.toMatch(/\/tmp\//);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await page.keyboard.press('r');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('heading', { name: 'The demo is finished: 8 files would be moved' }).waitFor();
  expect(Date.now() - begun, 'time to the first result').toBeLessThan(60_000);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Connect an agent' }).waitFor();
  expect(page.troubles, 'errors of the page').toEqual([]);
});

test('a link signs in once with one click, and its code is gone from the address', async () => {
  const open = async () => {
    const page = await (await browser.newContext()).newPage();
    await page.goto(core.link);
    return page;
  };
  const page = await open();
  await page.getByRole('heading', { name: 'Three ways to start' }).waitFor();
  expect(page.url()).not.toMatch(/code/);
  const late = await open();
  await late.getByText('The code of this link is wrong or has expired').waitFor();
  expect(late.url()).not.toMatch(/code/);
  const code = late.getByRole('textbox', { name: /code/i });
  expect(await code.getAttribute('aria-invalid'), 'nobody typed anything wrong').not.toBe('true');
  await signIn(late, core);
  await page.context().close();
  await late.context().close();
});

test('without a session there is a sign-in and nothing else', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(core.url);
  await page.getByRole('textbox', { name: /code/i }).fill('WRONG-CODE');
  await page.keyboard.press('Enter');
  await until('the wrong code is told at its field', async () => (await page.getByRole('textbox', { name: /code/i }).getAttribute('aria-invalid')) === 'true');
  const refused = await page.evaluate(() => fetch('/ui/call/inbox', { method: 'POST', body: '{}', headers: { 'x-taskwarden': '1' } }).then((reply) => reply.status));
  expect(refused, 'a call without a session').toBe(401);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await signIn(page, core);
  await context.close();
});

test('a server that goes away is named, its rows stay, and it comes back', async () => {
  const server = await new ScriptedServer('ci').start();
  await core.addServer('ci', server.url);
  await core.call('ci', 'work', 'left');
  const task = await server.task('left');
  const page = await openWindow(browser, core);
  await page.goto(`${core.url}#/servers`);
  await page.getByText('Connected').first().waitFor();
  await server.stop();
  await until('the server is shown as out of reach', async () => (await page.getByText('Connected', { exact: true }).count()) === 0);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.goto(`${core.url}#/tasks`);
  await page.getByRole('grid').getByText('work').first().waitFor();
  await server.start();
  server.finish(task, [{ type: 'text', text: 'after all' }]);
  await page.getByRole('grid').getByText('Done', { exact: true }).first().waitFor({ timeout: 80_000 });
  await server.stop();
});

test('a core that dies under an open window is told, and everything is there when it is back', async () => {
  const server = await new ScriptedServer('ci').start();
  await core.addServer('ci', server.url);
  await core.call('ci', 'work', 'kept');
  const page = await openWindow(browser, core);
  await page.goto(`${core.url}#/tasks`);
  await page.getByRole('grid').getByText('work').first().waitFor();
  await core.kill('SIGKILL');
  await page.getByText('The core does not answer.').first().waitFor();
  expect(await page.getByRole('grid').getByText('work').count(), 'the last rows stay').toBeGreaterThan(0);
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  await core.start();
  // A session outlives its core: nobody signs in again.
  await page.getByRole('grid').getByText('Working', { exact: true }).first().waitFor();
  await server.stop();
});

test('the policy of the page blocks a script that was put into it', async () => {
  const page = await openWindow(browser, core);
  const blocked = await page.evaluate(async () => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', (event) => seen.push(event.violatedDirective));
    const script = document.createElement('script');
    script.textContent = 'document.title = "owned"';
    document.body.append(script);
    const holder = document.createElement('div');
    holder.innerHTML = '<img src="data:image/png;base64,!" onerror="document.title = \'owned\'">';
    const failed = new Promise((resolve) => holder.firstChild.addEventListener('error', resolve));
    const told = new Promise((resolve) => document.addEventListener('securitypolicyviolation', ({ violatedDirective }) => violatedDirective.startsWith('script-src') && resolve()));
    document.body.append(holder);
    await Promise.all([failed, told]);
    return { seen, title: document.title };
  });
  expect(blocked.title).not.toContain('owned');
  expect(blocked.seen.some((directive) => directive.startsWith('script-src')), JSON.stringify(blocked.seen)).toBe(true);
});

test('every place works at every size and in both themes', async () => {
  const server = await new ScriptedServer('ci').start();
  await core.addServer('ci', server.url);
  await core.call('ci', 'work', 'seen');
  server.ask(await server.task('seen'), 'go', 'May it go on?', { type: 'object', properties: { yes: { type: 'boolean', title: 'Go on' } } });
  for (const theme of ['light', 'dark']) {
    // 640 wide is 1280 at a zoom of 200 %.
    for (const [width, height] of [[1280, 800], [900, 600], [720, 600], [640, 400]]) {
      const page = await openWindow(browser, core, { theme, width, height });
      for (const place of ['inbox', 'tasks', 'servers', 'settings']) {
        await page.goto(`${core.url}#/${place}`);
        await page.getByRole('heading').first().waitFor();
        const where = `${place}, ${theme}, ${width} × ${height}`;
        expect(await accessibilityFaults(page), where).toEqual([]);
        expect(await geometryFaults(page), where).toEqual([]);
      }
      await page.context().close();
    }
  }
  await server.stop();
}, 240_000);
