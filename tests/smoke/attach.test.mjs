// One data folder has one core: the window attaches to the one that runs, and takes over when it ends.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from './until.mjs';
import { Window } from './window.mjs';

test('the window attaches to a running core and takes over when that ends', async (context) => {
  const home = await mkdtemp(join(tmpdir(), 'taskwarden-attach-'));
  const environment = { ...process.env, TASKWARDEN_HOME: home, TASKWARDEN_SECRETS: 'file' };
  const arguments_ = ['serve', '--json', '--listen', 'off'];
  const core = spawn(process.env.TASKWARDEN, arguments_, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => core.stdout.once('data', resolve));
  const window = await Window.open(process.env.TASKWARDEN_WINDOW, environment);
  context.after(async () => {
    await window.close();
    core.kill('SIGKILL');
    await rm(home, { recursive: true, force: true });
  });
  const holder = async () => Number.parseInt(await readFile(join(home, 'core.lock'), 'utf8').catch(() => ''), 10);

  await window.sees('Run the demo');
  assert.equal(await holder(), core.pid, 'the window started no second core');

  const ended = new Promise((resolve) => core.once('exit', resolve));
  core.kill('SIGTERM');
  await ended;
  await until('the window to hold the data folder', async () => (await holder()) > 0 && (await holder()) !== core.pid);
  const ask = () => globalThis.__TAURI_INTERNALS__.invoke('call', { name: 'doctor', input: '{}' });
  await until('a call to be answered', async () => 'ok' in (await window.settle(ask)));
  await until('the page to be live again', async () => !/does not answer|cannot reach/i.test(await window.text()));
});
