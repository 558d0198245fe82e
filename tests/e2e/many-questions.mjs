// Measures what a server that asks very much costs: growth of the core, time of the inbox, time of a further change.
//
// `node many-questions.mjs PROGRAM [QUESTIONS] [TASKS]` starts a core of PROGRAM in a folder of its own, with a scripted
// server whose tasks each ask that many questions at once. It prints one line and stops what it started. No part of CI:
// the figures of a loaded machine say little.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScriptedServer } from './scripted-server.mjs';

const [program, questions = '1000', tasks = '1'] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'many-questions-'));
const env = { ...process.env, TASKWARDEN_HOME: home, TASKWARDEN_LISTEN: 'off', TASKWARDEN_SECRETS: 'file' };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const form = { type: 'object', properties: { name: { type: 'string', title: 'Your name' }, sure: { type: 'boolean' } } };

/** Runs a command beside the scripted server, which lives in this process and must not be blocked. */
const timed = (...args) => new Promise((resolve) => {
  const begun = performance.now();
  const one = spawn(program, args, { env });
  const said = [];
  const out = [];
  one.stdout.on('data', (text) => out.push(text));
  one.stderr.on('data', (text) => said.push(text));
  one.on('close', (code) => resolve({ ms: Math.round(performance.now() - begun), ok: code === 0, out: out.join(''), err: said.join('') }));
});

const server = await new ScriptedServer('asker').start();
const core = spawn(program, ['serve'], { env, stdio: 'ignore' });
const memory = (field) => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${core.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
try {
  for (let tries = 0; tries < 100 && !(await timed('doctor')).ok; tries++) await pause(200);
  const added = await timed('servers', 'add', 'asker', '--yes', '--url', server.url);
  if (!added.ok) throw new Error(added.err);
  const made = [];
  for (let n = 0; n < Number(tasks); n++) {
    const called = await timed('call', 'asker', 'work', '--args', JSON.stringify({ nonce: `n${n}` }));
    if (!called.ok) throw new Error(called.err);
    made.push(await server.task(`n${n}`));
  }
  await pause(2_000);
  const before = memory('VmRSS');
  for (const task of made) {
    const inputRequests = {};
    for (let n = 0; n < Number(questions); n++) {
      const params = { mode: 'form', message: `Question ${n}: shall it go on, and who says so?`, requestedSchema: form };
      inputRequests[`k${String(n).padStart(4, '0')}`] = { method: 'elicitation/create', params };
    }
    Object.assign(task, { status: 'input_required', inputRequests });
    server.say(task, 'asks');
  }
  await pause(8_000);
  const asked = await timed('inbox');
  if (!asked.out.includes('Question 0')) throw new Error(`nothing was asked: ${asked.out}`);
  const idle = (await timed('--version')).ms;
  const looks = [];
  for (let n = 0; n < 5; n++) looks.push((await timed('inbox', '--json')).ms);
  const change = (await timed('call', 'asker', 'echo', '--args', JSON.stringify({ nonce: 'beside' }))).ms;
  const grown = memory('VmRSS') - before;
  console.log(JSON.stringify({ questions: Number(questions), tasks: Number(tasks), beforeMiB: Math.round(before), grownMiB: Math.round(grown * 10) / 10, peakMiB: Math.round(memory('VmHWM')), inboxMs: looks, ofWhichStartMs: idle, anotherCallMs: change, violations: server.violations.slice(0, 2) }));
} finally {
  core.kill('SIGKILL');
  await server.stop();
  rmSync(home, { recursive: true, force: true });
}
