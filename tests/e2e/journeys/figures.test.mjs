// Every figure on every screen of a real core agrees with every other, with the rows that it counts and with the command
// line: three agents on three servers, a question, held results of two agents, a failure, a server that is dead and one
// that refuses whoever is not signed in.
import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addAgent } from '../agent.mjs';
import { openWindow } from '../browser.mjs';
import { until } from '../level.mjs';
import { ScriptedServer } from '../scripted-server.mjs';
import { stage } from '../stage.mjs';

const QUESTION = { type: 'object', properties: { ticket: { type: 'string', title: 'Change ticket' } }, required: ['ticket'] };
const TEXT = [{ type: 'text', text: 'a report' }];
const on = stage();
/** What is counted of whom, and the filter of the task list that finds the same tasks. */
const FILTERS = {
  open: 'phase:open',
  needsYou: 'is:needsYou',
  working: 'phase:running,answering',
  noNews: 'phase:noNews',
  held: 'is:held',
  'view of view:Failed today': 'phase:failed,doneWithError changed:today',
  'view of view:Ended today': 'phase:finished changed:today',
  'open of server:dead': 'phase:open server:dead',
  'open of agent:night': 'phase:open agent:night',
  'needsYou of server:ci': 'is:needsYou server:ci',
  'needsYou of agent:reader': 'is:needsYou agent:reader',
  'needsYou of agent:writer': 'is:needsYou agent:writer',
  'needsYou of agent:night': 'is:needsYou agent:night',
};
/** What the status bar counts of servers, and how the servers' list says it. */
const HEALTH = { up: 'Connected', trouble: 'Not reachable', signIn: 'Needs sign-in', connecting: 'Connecting' };
let docs;
let dead;
let locked;

beforeEach(async () => {
  docs = await new ScriptedServer('docs').start();
  dead = await new ScriptedServer('dead').start();
  locked = createServer((_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end());
  await new Promise((done) => locked.listen(0, '127.0.0.1', done));
  await on.core.addServer('docs', docs.url);
  await on.core.addServer('dead', dead.url);
});
afterEach(async () => {
  await docs.stop();
  if (dead !== null) await dead.stop();
  locked.closeAllConnections();
  await new Promise((done) => locked.close(done));
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

/** How many rows of the servers' list say each state. */
const healthRows = (page) =>
  page.getByRole('main').getByRole('row').evaluateAll((rows, words) => {
    const said = rows.map((row) => row.querySelectorAll('[role=gridcell]')[1]?.textContent.trim() ?? '');
    return Object.fromEntries(Object.entries(words).map(([kind, word]) => [kind, said.filter((text) => text.startsWith(word)).length]));
  }, HEALTH);

/** All figures of all screens, by name: each count with where it stands. */
async function walk(page) {
  const agents = (await on.core.command('agents', 'list')).agents;
  const filters = Object.values(FILTERS).map((filter) => `tasks?q=${encodeURIComponent(filter)}`);
  const places = [
    'inbox', 'tasks', 'tasks?q=server%3Aci', ...filters, 'servers', 'servers/ci', 'servers/dead', 'agents',
    ...agents.map(({ id }) => `agents/${id}`), 'budgets', 'audit', 'settings', 'halt',
  ];
  const names = new Map();
  const listed = new Map();
  for (const place of places) {
    await page.goto(`${on.core.url}#/${place}`);
    await page.locator('main#content').waitFor();
    await until(`${place} is loaded`, async () => (await page.locator('main#content :is([aria-busy=true], .bones)').count()) === 0);
    for (const { name, count, text } of await figures(page)) {
      if (count > 0) expect(text, `${place}: ${name} is what it shows`).toContain(count.toLocaleString('en'));
      // What a list shows, and a section of it, follow its filter.
      if (name === 'listed') listed.set(place, count);
      if (name.startsWith('listed') || name.startsWith('section')) continue;
      const counts = names.get(name) ?? new Map();
      names.set(name, counts.set(count, [...(counts.get(count) ?? []), place]));
    }
    if (place === 'servers') listed.set('health', await healthRows(page));
    if (place === 'inbox') listed.set('title', await page.title());
    if (place === 'inbox') listed.set('rows', await page.getByRole('region', { name: 'What waits for you' }).locator('[role=row][data-at]').count());
    if (place === 'budgets') listed.set('pending', await page.getByRole('region', { name: 'About to come in' }).getByText('Done, result held').count());
  }
  return { names, listed };
}

const countOf = (names, name) => [...(names.get(name)?.keys() ?? [])][0];

/** Figures of one name that differ, and figures that are not the number of the rows that they count. */
function disagreements({ names, listed }) {
  const rows = [
    ...Object.entries(FILTERS).map(([figure, filter]) => [figure, listed.get(`tasks?q=${encodeURIComponent(filter)}`)]),
    ...Object.keys(HEALTH).map((kind) => [`servers of ${kind}`, listed.get('health')[kind]]),
    ['items', listed.get('rows')],
    ['held', listed.get('pending')],
  ];
  return [
    ...[...names].filter(([, counts]) => counts.size > 1).map(([name, counts]) => `${name}: ${JSON.stringify([...counts])}`),
    ...rows.filter(([name, count]) => count !== (countOf(names, name) ?? 0)).map(([name, count]) => `${name}: ${countOf(names, name)} for ${count} rows`),
  ];
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
  const nightly = await night.at('docs').call('work', 'held at night');
  await on.core.command('tasks', 'hold', nightly.taskId);
  docs.finish(await docs.task('held at night'), TEXT);
  // It is added, and then says that nobody is signed in.
  await on.core.addServer('locked', `http://127.0.0.1:${locked.address().port}/mcp`).catch(() => undefined);
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
  await until('what happened is on record', async () => /done done done failed .*waiting/.test(await phases()));
  await until('the held results wait in the inbox', async () => (await inbox()).length >= 3);
  await until('the dead server is known to be dead', async () => {
    const { servers } = await on.core.command('servers', 'list');
    return servers.find(({ name }) => name === 'dead')?.health.kind !== 'up';
  });

  let differ;
  const { names: agree, listed } = await until('no two figures of one name differ, nor a figure and its rows', async () => {
    const walked = await walk(page);
    differ = disagreements(walked);
    return differ.length === 0 ? walked : null;
  }, 300_000).catch((error) => {
    throw new Error(`${error.message}; these differ: ${differ.join('; ')}`);
  });
  const of = (name) => countOf(agree, name);
  const sum = (figure, kind) =>
    [...agree.keys()].filter((name) => name.startsWith(`${figure} of ${kind}:`)).reduce((total, name) => total + of(name), 0);
  expect([...agree.values()].flatMap((counts) => [...counts.values()].flat()).length, 'figures were found').toBeGreaterThan(60);
  const tasks = (await list()).tasks;
  const open = tasks.filter(({ over }) => !over).length;
  expect(of('open'), 'the command line counts as many').toBe(open);
  expect([sum('open', 'agent'), sum('open', 'server')], 'agents and servers each sum to all').toEqual([open, open]);
  expect(sum('needsYou', 'agent'), 'what needs somebody is somebody’s').toBe(of('needsYou'));
  const { agents } = await on.core.command('agents', 'list');
  const { servers } = await on.core.command('servers', 'list');
  const told = [...agents.map((one) => [`agent:${one.name}`, one]), ...servers.map((one) => [`server:${one.name}`, one])];
  for (const figure of ['open', 'needsYou'])
    for (const [whose, { figures: theirs }] of told)
      expect(of(`${figure} of ${whose}`) ?? 0, `${figure} of ${whose}, as the command line says`).toBe(theirs[figure]);
  expect(of('held'), 'the held results').toBe(2);
  const health = listed.get('health');
  expect([health.up, health.trouble, health.signIn], 'two answer, one is dead, one asks for a sign-in').toEqual([2, 1, 1]);
  expect(listed.get('title'), 'and so does the title of the window').toMatch(new RegExp(`^\\(${of('items')}\\) Inbox`));
  // A server that asks for a sign-in stands in the window's inbox; the command line tells of it with the servers.
  expect(of('items'), 'the badge counts what the command line has').toBe((await inbox()).length + health.signIn);
  expect(page.troubles, 'errors of the page').toEqual([]);
}, 540_000);
