// Every figure on every screen of a real core agrees with every other and with the command line: three agents on three
// servers, a question, a held result, a failure, and a server that is dead.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { ScriptedServer } from '../scripted-server.mjs';
import { stage } from '../stage.mjs';

const QUESTION = { type: 'object', properties: { ticket: { type: 'string', title: 'Change ticket' } }, required: ['ticket'] };
const TEXT = [{ type: 'text', text: 'a report' }];
const on = stage();
let docs;
let dead;

beforeEach(async () => {
  docs = await new ScriptedServer('docs').start();
  dead = await new ScriptedServer('dead').start();
  await on.core.addServer('docs', docs.url);
  await on.core.addServer('dead', dead.url);
});
afterEach(async () => {
  await docs.stop();
  if (dead !== null) await dead.stop();
});

/** What stands on the page: what it counts, of whom, and the text that a person reads. */
const figures = (page) =>
  page.locator('[data-figure]').evaluateAll((all) =>
    all
      .filter((one) => one.checkVisibility())
      .map((one) => ({
        name: [one.dataset.figure, one.dataset.of].filter(Boolean).join(' of '),
        count: Number(one.dataset.count),
        text: one.textContent.replace(/\s+/g, ' ').trim(),
      })),
  );

/** All figures of all screens, by name: each count with where it stands. */
async function walk(page) {
  const agents = (await on.core.command('agents', 'list')).agents;
  const places = [
    'inbox', 'tasks', 'tasks?q=is%3AneedsYou', 'tasks?q=server%3Aci', 'servers', 'servers/ci', 'servers/dead', 'agents',
    ...agents.map(({ id }) => `agents/${id}`), 'budgets', 'audit', 'settings', 'halt',
  ];
  const names = new Map();
  for (const place of places) {
    await page.goto(`${on.core.url}#/${place}`);
    await page.locator('main#content').waitFor();
    await until(`${place} is loaded`, async () => (await page.locator('main#content :is([aria-busy=true], .bones)').count()) === 0);
    for (const { name, count, text } of await figures(page)) {
      if (count > 0) expect(text, `${place}: ${name} is what it shows`).toContain(count.toLocaleString('en'));
      // What a list shows, and a section of it, follow its filter.
      if (name.startsWith('listed') || name.startsWith('section')) continue;
      const counts = names.get(name) ?? new Map();
      names.set(name, counts.set(count, [...(counts.get(count) ?? []), place]));
    }
  }
  return names;
}

test('three agents, held results and a dead server: every figure agrees with every other', async () => {
  const page = await openWindow(on.browser, on.core);
  const reader = await addAgent(page, on.core, 'reader');
  const writer = await addAgent(page, on.core, 'writer');
  const night = await addAgent(page, on.core, 'night');

  await reader.call('work', 'asks');
  on.server.ask(await on.server.task('asks'), 'go', 'Which ticket covers this?', QUESTION);
  await reader.call('work', 'works');
  await reader.at('docs').call('work', 'done');
  docs.finish(await docs.task('done'), TEXT);
  const held = await writer.call('work', 'held');
  await on.core.command('tasks', 'hold', held.taskId);
  on.server.finish(await on.server.task('held'), TEXT);
  await writer.at('docs').call('work', 'failed');
  docs.fail(await docs.task('failed'), -32000, 'no space left');
  await night.call('work', 'at night');
  await night.at('dead').call('work', 'left alone');
  await dead.task('left alone');
  await dead.stop();
  dead = null;

  const list = () => on.core.command('tasks', 'list');
  const inbox = async () => {
    const { items, decisions, trouble } = await on.core.command('inbox');
    return [...items, ...decisions, ...trouble];
  };
  const phases = async () => (await list()).tasks.map(({ phase }) => phase).sort().join(' ');
  await until('what happened is on record', async () => /done done failed .*waiting/.test(await phases()));
  await until('the held result waits in the inbox', async () => (await inbox()).length >= 2);
  await until('the dead server is known to be dead', async () => {
    const { servers } = await on.core.command('servers', 'list');
    return servers.find(({ name }) => name === 'dead')?.health.kind !== 'up';
  });

  const agree = await until('no two figures of one name differ', async () => {
    const names = await walk(page);
    const differ = [...names].filter(([, counts]) => counts.size > 1).map(([name, counts]) => [name, [...counts]]);
    return differ.length === 0 ? names : null;
  });
  const of = (name) => [...(agree.get(name)?.keys() ?? [])][0];
  const sum = (figure, kind) =>
    [...agree.keys()].filter((name) => name.startsWith(`${figure} of ${kind}:`)).reduce((total, name) => total + of(name), 0);
  expect([...agree.values()].flatMap((counts) => [...counts.values()].flat()).length, 'figures were found').toBeGreaterThan(60);
  const tasks = (await list()).tasks;
  const open = tasks.filter(({ over }) => !over).length;
  expect(of('open'), 'the command line counts as many').toBe(open);
  expect([sum('open', 'agent'), sum('open', 'server')], 'agents and servers each sum to all').toEqual([open, open]);
  expect(sum('needsYou', 'agent'), 'what needs somebody is somebody’s').toBe(of('needsYou'));
  expect(of('held'), 'the held result').toBe(1);
  expect(of('items'), 'the badge counts what the inbox of the command line has').toBe((await inbox()).length);
  expect(page.troubles, 'errors of the page').toEqual([]);
});
