// Pictures of every screen in both themes, of a real core with scripted servers: `cargo xtask screenshots`.
// They go to the folder that is given, or to target/screenshots, which git ignores.
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { addAgent } from './agent.mjs';
import { openBrowser, openWindow } from './browser.mjs';
import { Core } from './core.mjs';
import { until } from './level.mjs';
import { IGNORES, ScriptedServer } from './scripted-server.mjs';

const FOLDER = resolve(process.argv[2] ?? process.env.TASKWARDEN_SHOTS ?? join(import.meta.dirname, '../../target/screenshots'));
const SIZES = [[1280, 800], [900, 600], [720, 600], [1920, 1080]];
/** About 9,000 tokens. */
const REPORT = Array.from({ length: 450 }, (_, n) => `${n}: path/to/file-${n * 7919}.txt, ${n * 104729} bytes, changed on day ${n % 365}`).join('\n');
const ROLL_OUT = {
  type: 'object',
  properties: {
    rollout: { type: 'string', title: 'Rollout', oneOf: [{ const: 'canary', title: 'Canary 10 %, then everyone' }, { const: 'regions', title: 'One region at a time' }, { const: 'all', title: 'Everyone at once' }], default: 'canary' },
    regions: { type: 'array', title: 'Regions', items: { type: 'string', enum: ['eu-west-1', 'us-east-1', 'ap-south-1'] }, default: ['eu-west-1', 'us-east-1'] },
    limit: { type: 'number', title: 'Roll back above', description: 'Errors, in % of requests', minimum: 0, maximum: 5, default: 1.5 },
    ticket: { type: 'string', title: 'Change ticket', maxLength: 40 },
  },
  required: ['rollout', 'limit'],
};

/** What two agents called, and one result that waits for a person. */
async function agentsWork(core, browser, ci, docs) {
  const page = await openWindow(browser, core);
  const night = await addAgent(page, core, 'nightly-ops');
  const reader = await addAgent(page, core, 'reader');
  await page.context().close();
  for (const agent of ['nightly-ops', 'reader']) await core.command('budget', 'set', agent, '--tokenizer', 'o200k', '--window', '200000');
  for (const agent of [night, reader]) await agent.at('docs').send('tools/list');
  // What is read fills a window, so that the gauges show something.
  for (const [agent, nonce, times] of [[reader, 'read', 6], [night, 'read at night', 2]]) {
    const { taskId } = await agent.at('docs').call('hash_tree', nonce);
    docs.finish(await docs.task(nonce), [{ type: 'text', text: Array(times).fill(REPORT).join('\n') }]);
    await until(`the result of ${nonce} was read`, async () => (await agent.at('docs').task(taskId)).status === 'completed');
  }
  await night.at('ci-server').call('integration_tests', 'at night');
  ci.say(await ci.task('at night'), '640 of 904 passed');
  const held = await reader.at('docs').call('index_folder', 'held');
  await core.command('tasks', 'hold', held.taskId);
  docs.finish(await docs.task('held'), [{ type: 'text', text: REPORT }]);
  await until('the result is held', async () => (await core.command('tasks', 'show', held.taskId)).over);
}

/** A core with a working day behind it. */
async function scene(core, browser) {
  const ci = new ScriptedServer('ci-server', [['deploy_prod', {}], ['build_image', {}], ['integration_tests', {}]]);
  const warehouse = new ScriptedServer('warehouse', [['export_ledger', {}], ['backfill_orders', {}], ['reprice_catalog', {}]]);
  const docs = new ScriptedServer('docs', [['index_folder', { readOnlyHint: true }], ['hash_tree', { readOnlyHint: true }], ['delete_branch', { destructiveHint: true }]]);
  for (const server of [ci, warehouse, docs]) {
    await server.start();
    await core.addServer(server.name, server.url);
  }
  const begin = async (server, tool, nonce) => {
    const { id } = await core.call(server.name, tool, nonce);
    return Object.assign(await server.task(nonce), { handle: id });
  };
  const asks = await begin(ci, 'deploy_prod', 'v4.12.0');
  ci.say(asks, 'canary image pushed');
  ci.ask(asks, 'rollout', 'How should v4.12.0 roll out? Build 8841 is green. I roll back by myself if the error rate passes your limit.', ROLL_OUT);
  const link = await begin(warehouse, 'export_ledger', 'ledger');
  warehouse.askLink(link, 'visit', 'Allow the export of the ledger.', 'https://id.ledgerly.example/consent?export=2026');
  const deletes = await begin(docs, 'delete_branch', 'branch');
  docs.ask(deletes, 'sure', 'Delete release/4.11 on storefront?', { type: 'object', properties: { sure: { type: 'boolean', title: 'Delete the branch' } }, required: ['sure'] });
  for (const [server, tool, message] of [[ci, 'build_image', 'layer 7 of 12'], [ci, 'integration_tests', '311 of 904 passed'], [warehouse, 'reprice_catalog', 'page 44'], [docs, 'hash_tree', '61,204 files']]) {
    server.say(await begin(server, tool, tool), message);
  }
  const done = await begin(docs, 'index_folder', 'index');
  docs.finish(done, [{ type: 'text', text: 'Indexed 4,211 files in 312 folders.\nLargest: report-2025.pdf, 48 MiB.' }], { structuredContent: { files: 4211, folders: 312, largest: { name: 'report-2025.pdf', bytes: 50331648 } } });
  const failed = await begin(ci, 'build_image', 'broken');
  ci.fail(failed, -32603, 'no space left on the builder');
  warehouse.onCancel = IGNORES;
  const stopping = await begin(warehouse, 'backfill_orders', 'month');
  warehouse.say(stopping, '38 % of the month');
  await core.command('tasks', 'cancel', stopping.handle, '--reason', 'wrong month', '--yes');
  await agentsWork(core, browser, ci, docs);
  await until('the finished task is known as finished', async () => (await core.command('tasks', 'show', done.handle)).phase === 'done');
  return { servers: [ci, warehouse, docs], asks, stopping, done };
}

const core = await (await Core.create()).start();
const browser = await openBrowser();
await mkdir(FOLDER, { recursive: true });
let servers = [];
try {
  const picture = async (page, name) => {
    await page.waitForTimeout(700);
    await page.screenshot({ path: join(FOLDER, `${name}.png`) });
    console.log(join(FOLDER, `${name}.png`));
  };
  for (const theme of ['light', 'dark']) {
    const page = await openWindow(browser, core, { theme });
    await page.getByText('Three ways to start').waitFor();
    await picture(page, `first-run-${theme}`);
    await page.context().close();
  }
  const set = await scene(core, browser);
  servers = set.servers;
  const reader = (await core.command('agents', 'list')).agents.find(({ name }) => name === 'reader');
  for (const theme of ['light', 'dark']) {
    for (const [width, height] of SIZES) {
      const page = await openWindow(browser, core, { theme, width, height });
      const go = (hash) => page.goto(`${core.url}#/${hash}`);
      const size = `${theme}-${width}x${height}`;
      await go(`inbox/${encodeURIComponent(`${set.asks.handle}/rollout`)}`);
      await page.getByText('Rollout').first().waitFor();
      await picture(page, `inbox-${size}`);
      await go('tasks');
      await page.getByRole('grid').getByText('hash_tree').first().waitFor();
      await picture(page, `tasks-${size}`);
      await go(`tasks/${set.stopping.handle}`);
      await page.getByText('backfill_orders').last().waitFor();
      await picture(page, `task-${size}`);
      await page.getByRole('button', { name: 'Cancelling…' }).click();
      await page.getByRole('button', { name: 'Keep waiting' }).waitFor();
      await picture(page, `task-cancelling-${size}`);
      await page.keyboard.press('Escape');
      await go(`tasks/${set.done.handle}`);
      await page.getByText('Indexed 4,211 files').filter({ visible: true }).first().waitFor();
      await picture(page, `task-result-${size}`);
      await go('servers');
      await page.getByText('Connected').first().waitFor();
      await picture(page, `servers-${size}`);
      await go('servers/warehouse');
      await page.getByRole('tab').first().waitFor();
      await picture(page, `server-${size}`);
      await page.getByRole('tab', { name: 'Tools' }).click();
      await page.getByText('backfill_orders').first().waitFor();
      await picture(page, `server-tools-${size}`);
      await go('agents');
      await page.getByRole('heading').first().waitFor();
      await picture(page, `agents-${size}`);
      await go(`agents/${reader.id}`);
      await page.getByText('Last calls').waitFor();
      await picture(page, `agent-${size}`);
      await go('budgets');
      await page.getByRole('heading').first().waitFor();
      await picture(page, `budgets-${size}`);
      await go('audit');
      await page.getByRole('grid').getByText('asked to cancel').first().waitFor();
      await picture(page, `audit-${size}`);
      await page.getByRole('grid').getByText('asked to cancel').first().click();
      await page.getByText('Place in the chain').waitFor();
      await picture(page, `audit-row-${size}`);
      await go('settings');
      await page.getByRole('heading').first().waitFor();
      await picture(page, `settings-${size}`);
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await Promise.all(servers.map((server) => server.stop()));
  await core.remove();
}
