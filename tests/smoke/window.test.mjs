// Stories of the real window: it opens, keeps strangers' scripts out, runs the demo, and a notification leads back in.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Desktop } from './desktop.mjs';
import { until } from './until.mjs';
import { Window } from './window.mjs';

const PROGRAM = process.env.TASKWARDEN_WINDOW;

let desktop;
let window;
let environment;
/** Loopback only: whoever reaches it broke out. */
let outside;
const reached = [];

before(async () => {
  const home = await mkdtemp(join(tmpdir(), 'taskwarden-smoke-'));
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
});

/** A call as the page makes it. */
function call(name, input) {
  return window.settle(
    (name, input) => globalThis.__TAURI_INTERNALS__.invoke('call', { name, input: JSON.stringify(input) }),
    name,
    input,
  );
}

test('the window opens on the first run and offers the demo', async () => {
  await window.sees('Taskwarden');
  await window.sees('demo');
  await window.picture('first-run');
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
