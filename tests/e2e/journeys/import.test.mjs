// What a person has in an agent program: imported, routed through Taskwarden and taken back in the window.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityFaults, geometryFaults, openBrowser, openWindow } from '../browser.mjs';
import { Core, PROGRAM } from '../core.mjs';
import { until } from '../level.mjs';

let browser;
let core;
let home;
let file;
const BEFORE = `{
  "theme": "dark",
  "mcpServers": {
    "files": { "command": ${JSON.stringify(PROGRAM)}, "args": ["demo-server"], "env": { "KEY": "hush-hush" } },
    "gone": { "command": "a-program-that-is-not-here" }
  }
}
`;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'taskwarden-person-'));
  file = join(home, '.cursor/mcp.json');
  await mkdir(join(home, '.cursor'));
  await writeFile(file, BEFORE);
  core = await Core.create();
  core.person = { HOME: home, XDG_CONFIG_HOME: join(home, '.config') };
  await core.start();
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  await core?.remove();
  await rm(home, { recursive: true, force: true });
});

test('a server of Cursor is imported, routed and taken back, and its file is as it was', async () => {
  const page = await openWindow(browser, core);
  await page.getByRole('button', { name: 'Import existing servers…' }).click();
  await page.getByRole('checkbox', { name: 'files' }).waitFor();
  expect(await page.locator('body').textContent(), 'a value of the environment is not shown').not.toContain('hush-hush');
  await page.getByText('a-program-that-is-not-here').first().waitFor();
  expect(await accessibilityFaults(page), 'what axe finds').toEqual([]);
  expect(await geometryFaults(page), 'what does not fit').toEqual([]);
  await page.getByRole('button', { name: 'Import 1 server' }).click();
  await page.getByText('in Taskwarden as files').waitFor();
  expect((await core.command('servers', 'list')).servers.map(({ name }) => name)).toEqual(['files']);

  await page.getByRole('button', { name: 'Route through Taskwarden…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('"connect"').first().waitFor();
  expect(await dialog.textContent(), 'nor in the lines that change').not.toContain('hush-hush');
  expect(await readFile(file, 'utf8'), 'nothing changed yet').toBe(BEFORE);
  await dialog.getByRole('button', { name: 'Change 1 file' }).click();
  await dialog.getByText('Start Cursor again').waitFor();
  const routed = JSON.parse(await readFile(file, 'utf8'));
  expect(routed.mcpServers.files.args).toContain('connect');
  expect(routed.theme).toBe('dark');
  await dialog.getByRole('button', { name: 'Close' }).click();

  await page.getByRole('button', { name: 'Undo the routing…' }).click();
  await dialog.getByRole('button', { name: 'Undo in 1 file' }).click();
  await dialog.getByText('As it was before.').waitFor();
  await until('the file is as it was', async () => (await readFile(file, 'utf8')) === BEFORE);
  expect(page.troubles, 'errors of the page').toEqual([]);
});
