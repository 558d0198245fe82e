// What a person waits for, through the whole chain: a scripted server that pushes, the core, its page in Chromium.
//
// Two figures. From a change on the server to the painted row; from the click on *Cancel task* to `tasks/cancel` on the
// wire. Both ends are clocks of this machine. Prints lines for `cargo xtask bench`;
// judges nothing (times are noisy here).
import { Core } from './core.mjs';
import { openBrowser, openWindow } from './browser.mjs';
import { ScriptedServer, IGNORES } from './scripted-server.mjs';

const CHANGES = Number(process.env.CHANGES ?? 200);
const CANCELS = Number(process.env.CANCELS ?? 20);

const percentile = (values, part) => values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.ceil(values.length * part) - 1)];
const figures = (metric, values, aim) => {
  const line = (name, value) => ({ metric: `${metric}, ${name} of ${values.length}`, reference: null, ours: Math.round(value * 10) / 10, ratio: null, aim, unit: 'ms' });
  console.log(JSON.stringify(line('median', percentile(values, 0.5))));
  console.log(JSON.stringify(line('p99', percentile(values, 0.99))));
};

const core = await (await Core.create()).start();
const server = await new ScriptedServer('bench').start();
const browser = await openBrowser();
try {
  await core.addServer('bench', server.url);
  await core.call('bench', 'work', 'painted');
  const task = await server.task('painted');
  const page = await openWindow(browser, core);
  await page.goto(`${core.url}#/tasks`);
  await page.getByRole('grid').getByText('work').first().waitFor();
  // The drawer shows the server's own words: the row itself has no room for them.
  await page.getByRole('grid').getByText('work').first().click();
  await page.evaluate(() => {
    globalThis.painted = new Map();
    const look = () => {
      const found = /change-(\d+)-/.exec(document.body.textContent ?? '');
      if (found && !globalThis.painted.has(Number(found[1]))) {
        const change = Number(found[1]);
        globalThis.painted.set(change, 0);
        // The frame after the next one begins when this change is on the screen.
        requestAnimationFrame(() => requestAnimationFrame(() => globalThis.painted.set(change, performance.timeOrigin + performance.now())));
      }
    };
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const told = new Map();
  for (let change = 1; change <= CHANGES; change++) {
    told.set(change, performance.timeOrigin + performance.now());
    server.say(task, `change-${change}-`);
    await page.waitForFunction((wanted) => (globalThis.painted.get(wanted) ?? 0) > 0, change, { polling: 20, timeout: 20_000 });
    // Longer than a frame of the feed, so that each change is a first one.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const painted = new Map(await page.evaluate(() => [...globalThis.painted]));
  figures('server change to painted row', [...told].map(([change, at]) => painted.get(change) - at), '<= 100');

  server.onCancel = IGNORES;
  const waits = [];
  for (let number = 1; number <= CANCELS; number++) {
    const nonce = `cancel-${number}`;
    const { id } = await core.call('bench', 'work', nonce);
    await server.task(nonce);
    await page.goto(`${core.url}#/tasks/${id}`);
    const button = page.getByRole('button', { name: /^Cancel task/ }).last();
    await button.waitFor();
    await page.evaluate(() => {
      document.addEventListener('click', () => { globalThis.clicked = performance.timeOrigin + performance.now(); }, { capture: true, once: true });
    });
    await button.click();
    const until = Date.now() + 10_000;
    while (!server.cancels.some((cancel) => cancel.nonce === nonce)) {
      if (Date.now() > until) throw new Error(`no tasks/cancel for ${nonce}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const clicked = await page.evaluate(() => globalThis.clicked);
    waits.push(server.cancels.find((cancel) => cancel.nonce === nonce).at - clicked);
  }
  figures('click on cancel to tasks/cancel', waits, '<= 50');
} finally {
  await browser.close();
  await server.stop();
  await core.remove();
}
