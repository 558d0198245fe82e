// Stories of the real window: it opens, keeps strangers' scripts out, runs the demo, and a notification leads back in.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { Desktop } from './desktop.mjs';
import { until } from './until.mjs';
import { Window, isRunning } from './window.mjs';

const PROGRAM = process.env.TASKWARDEN_WINDOW;

let desktop;
let window;
let environment;
let home;
/** Loopback only: whoever reaches it broke out. */
let outside;
const reached = [];

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'taskwarden-smoke-'));
  const { HOME, PATH, DISPLAY, XAUTHORITY, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS } = process.env;
  environment = { HOME, PATH, DISPLAY, XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS, LANG: 'C.UTF-8' };
  Object.assign(environment, XAUTHORITY && { XAUTHORITY }, { TASKWARDEN_HOME: home, TASKWARDEN_SECRETS: 'file' });
  outside = createServer((request, response) => {
    reached.push(request.url);
    response.end();
  });
  await new Promise((resolve) => outside.listen(0, '127.0.0.1', resolve));
  desktop = await Desktop.start();
  window = await Window.open(PROGRAM, environment);
});

after(async () => {
  await window?.close();
  desktop?.stop();
  outside?.close();
  await rm(home, { recursive: true, force: true });
});

/** A call as the page makes it. */
async function call(name, input) {
  const answer = await window.settle(
    (name, input) =>
      globalThis.__TAURI_INTERNALS__.invoke('call', { name, input: JSON.stringify(input) }).catch((why) => Promise.reject(JSON.stringify(why))),
    name,
    input,
  );
  assert.ok('ok' in answer, `${name}: ${answer.why}`);
  return JSON.parse(answer.ok);
}

/** Starts a task that asks before it moves anything; gives its handle and the id of its item. */
async function asking() {
  const folder = await mkdtemp(join(home, 'downloads-'));
  for (const name of ['photo.jpg', 'letter.pdf', 'song.mp3']) await writeFile(join(folder, name), name);
  const { id } = await call('tasks.start', { server: 'demo', tool: 'tidy_downloads', arguments: { folder } });
  const task = await until('the task to ask', async () => {
    const task = await call('tasks.show', { id });
    return task.requests.some((request) => request.state === 'open') && task;
  });
  return { id, folder, item: `${id}/${task.requests[0].key}` };
}

const placeOf = (item) => `#/inbox/${encodeURIComponent(item)}`;
const at = (hash) => until(`the window to be at ${hash}`, async () => (await window.hash()) === hash);

test('the window opens on the first run and offers the demo', async () => {
  await window.sees('Run the demo');
  await window.picture('first-run');
});

test('the demo runs by clicking, and its question is on the screen', async () => {
  await window.click('Run the demo');
  await until('the window to be at the question', async () => (await window.hash()).startsWith('#/inbox/hdl_'));
  await window.sees('How should 8 sample files be sorted?');
  await window.picture('demo-question');
});

test('a script that a server slipped in does not run and nothing leaves the window', async () => {
  const address = `http://127.0.0.1:${outside.address().port}`;
  const blocked = await window.settle(async (address) => {
    const seen = [];
    document.addEventListener('securitypolicyviolation', (event) => seen.push(event.effectiveDirective));
    const place = document.createElement('div');
    document.body.append(place);
    place.innerHTML = '<img src="none:" onerror="globalThis.broken = 1"><p style="position:fixed">styled</p>';
    const inline = document.createElement('script');
    inline.textContent = 'globalThis.broken = 2';
    place.append(inline);
    const remote = document.createElement('script');
    remote.src = `${address}/script.js`;
    place.append(remote);
    const picture = document.createElement('img');
    picture.src = `${address}/pixel.png`;
    place.append(picture);
    const frame = document.createElement('iframe');
    frame.src = `${address}/frame`;
    place.append(frame);
    const link = document.createElement('a');
    link.href = 'javascript:globalThis.broken = 3';
    place.append(link);
    link.click();
    const sent = await fetch(`${address}/fetch`, { mode: 'no-cors' }).then(() => 'sent', () => 'blocked');
    await new Promise((resolve) => setTimeout(resolve, 500));
    place.remove();
    return { seen, sent, broken: globalThis.broken ?? null };
  }, address);
  const { seen, sent, broken } = blocked.ok;
  assert.equal(broken, null, 'nothing inline may run');
  assert.equal(sent, 'blocked', 'the page reaches the shell and nobody else');
  for (const directive of ['script-src-attr', 'script-src-elem', 'style-src-attr', 'img-src', 'connect-src']) {
    assert.ok(seen.includes(directive), `${directive} was enforced; seen: ${seen}`);
  }
  assert.deepEqual(reached, [], 'the server outside heard nothing');
});

test('the page can neither leave nor ask for more than its two commands', async () => {
  const address = `http://127.0.0.1:${outside.address().port}/gone`;
  await window.run((address) => {
    const link = document.createElement('a');
    link.href = address;
    document.body.append(link);
    link.click();
    link.target = '_blank';
    link.click();
    link.remove();
  }, address);
  for (const [command, input] of [
    ['plugin:opener|open_url', { url: address }],
    ['plugin:opener|open_path', { path: '/etc/passwd' }],
    ['plugin:window|close', {}],
    ['plugin:event|emit', { event: 'x' }],
    ['plugin:autostart|enable', {}],
    ['plugin:dialog|message', { message: 'x' }],
    ['plugin:global-shortcut|register', { shortcuts: ['Ctrl+A'] }],
    ['plugin:webview|create_webview_window', { options: { label: 'x', url: address } }],
  ]) {
    const asked = await window.settle((command, input) => globalThis.__TAURI_INTERNALS__.invoke(command, input), command, input);
    assert.match(String(asked.why), /not allowed|not found/, `${command} is refused: ${JSON.stringify(asked)}`);
  }
  const file = await window.settle((input) => globalThis.__TAURI_INTERNALS__.invoke('call', input).catch((why) => why), {
    name: 'window.openOutside',
    input: '{"url":"file:///etc/passwd"}',
  });
  assert.equal(file.ok.code, 'refused', 'only the web is opened outside');
  assert.equal(await window.run(() => location.origin), 'tauri://localhost', 'it is still our page');
  assert.deepEqual(reached, [], 'nobody outside was asked for a page');
});

test('a question reaches the desktop without its arguments, and its notice opens the item', async () => {
  await call('window.visible', { visible: false });
  await until('the page to know that it is hidden', () => window.run(() => document.visibilityState === 'hidden'));
  const after = desktop.heard.length;
  const { folder, item } = await asking();
  const notice = await desktop.next('notify', after);
  assert.ok(!JSON.stringify(notice).includes(folder), `no argument stands in it: ${JSON.stringify(notice)}`);
  const [open] = Object.entries(notice.actions).find(([, label]) => label === 'Open') ?? [];
  assert.ok(open, `it can be opened: ${JSON.stringify(notice)}`);
  // The program listens for presses of a notice once the service has shown it: one that comes before is pressed again.
  await until('the press to open the item', async () => {
    await desktop.act(notice.number, open);
    return (await window.hash()) === placeOf(item);
  });
  await until('the window to be back', () => window.run(() => document.visibilityState === 'visible'));
  await window.sees('Go ahead');
  await window.picture('from-a-notice');
});

test('whoever presses a notice opens the window at most', async () => {
  await window.run(() => void (location.hash = '#/settings'));
  await call('window.visible', { visible: false });
  await until('the page to know that it is hidden', () => window.run(() => document.visibilityState === 'hidden'));
  const after = desktop.heard.length;
  const { id } = await asking();
  const notice = await desktop.next('notify', after);
  assert.deepEqual(Object.keys(notice.actions).toSorted(), ['default', 'open'], 'no button decides');
  await desktop.forge(notice.number, ['yes', 'no', 'later']);
  for (const action of ['yes', 'no', 'later']) await desktop.act(notice.number, action);
  const second = await asking();
  const told = await desktop.next('notify', after, (one) => one.number !== notice.number);
  await desktop.forge(told.number, ['open']);
  // The most that a forged press can do.
  await at(placeOf(second.item));
  const { requests } = await call('tasks.show', { id });
  assert.deepEqual(requests.map((request) => request.state), ['open'], 'nobody answered');
  const { items } = await call('desk.list', { kind: 'snooze' });
  assert.deepEqual(items, [], 'and nothing was put off');
});

test('the tray tells how many wait, and a line of its menu opens the item', async () => {
  await window.run(() => void (location.hash = '#/settings'));
  const { item } = await asking();
  const { items } = await call('inbox', {});
  const looked = await until(`the tray to count ${items.length}`, async () => {
    const looked = await desktop.look();
    return looked.tooltip.includes(`${items.length} in the inbox`) && looked;
  });
  assert.ok(looked.colours > 1, 'the icon is a picture');
  assert.ok(looked.labels.some((label) => label.includes('tidy_downloads')), `the items stand there: ${looked.labels}`);
  await desktop.choose('Open inbox');
  // The inbox opens on its first item.
  await until('the window to be at the inbox', async () => (await window.hash()).startsWith('#/inbox'));
  await desktop.choose('Pause notifications');
  await at('#/settings');
  assert.equal((await call('settings.change', {})).pausedUntil, null, 'the menu opens the setting and does not change it');
  await call('settings.change', { pausedUntil: new Date(Date.now() + 3_600_000).toISOString() });
  await until('the pause to show', async () => (await desktop.look()).labels.includes('Notifications are paused…'));
  await call('settings.change', { pausedUntil: null });
  const mine = (await desktop.look()).labels.findLast((label) => label.includes('tidy_downloads'));
  await desktop.choose(mine);
  await at(placeOf(item));
});

test('a link opens its place in the window that is there', async () => {
  const { id } = await asking();
  const second = spawn(PROGRAM, [`taskwarden://task/${id}`], { env: environment, stdio: 'ignore' });
  const ended = new Promise((resolve) => second.once('exit', resolve));
  await at(`#/tasks/${id}`);
  assert.equal(await ended, 0, 'the second start ended by itself');
});

test('a second start says so when the window that is there does not answer', async () => {
  window.freeze();
  try {
    const second = spawn(PROGRAM, [], { env: environment, stdio: ['ignore', 'ignore', 'pipe'] });
    const [said, [code]] = await Promise.all([text(second.stderr), once(second, 'exit')]);
    assert.equal(code, 1);
    assert.match(said, /a window of this data folder is open and does not answer/);
  } finally {
    window.thaw();
  }
  await call('doctor', {});
});

test('closing the window keeps it in the tray, and the icon brings it back', async () => {
  const isShown = (state) => until(`the page to be ${state}`, () => window.run((state) => document.visibilityState === state, state));
  await desktop.close('Taskwarden');
  await isShown('hidden');
  await call('doctor', {});
  await desktop.activate();
  await isShown('visible');
});

test('the shortcut of the whole system opens the newest item once it is switched on', async () => {
  await window.run(() => void (location.hash = '#/settings'));
  const { item } = await asking();
  await call('settings.change', { globalShortcut: true });
  await until('the item after the shortcut', async () => {
    await desktop.press('Control_L', 'Shift_L', 'j');
    return (await window.hash()) === placeOf(item);
  });
  await call('settings.change', { globalShortcut: false });
});

test('quitting asks first, and keeps watching when told so', async () => {
  await desktop.choose('Quit');
  await until('the question', async () => (await desktop.windows()).includes('Quit Taskwarden?'));
  await desktop.close('Quit Taskwarden?');
  await until('the question to go', async () => !(await desktop.windows()).includes('Quit Taskwarden?'));
  assert.ok((await call('tasks.list', {})).tasks.length > 0, 'the core still answers');
});

test('a signal drains the core, and everything is there when the window opens again', async () => {
  const handles = async () => (await call('tasks.list', {})).tasks.map((task) => task.id).toSorted();
  const before = await handles();
  const core = Number.parseInt(await readFile(join(home, 'core.lock'), 'utf8'), 10);
  process.kill(core, 'SIGTERM');
  await until('the program to end', () => !isRunning(core));
  await window.close();
  window = await Window.open(PROGRAM, environment);
  await window.sees('Inbox');
  assert.deepEqual(await handles(), before, 'every handle is known as before');
});
