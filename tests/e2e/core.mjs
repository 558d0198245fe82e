// A headless core in a directory of its own: started, killed and started again as a person would with a terminal.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = resolve(import.meta.dirname, '../..');
export const PROGRAM = process.env.TASKWARDEN ?? join(ROOT, 'target/debug/taskwarden');

export class Core {
  #child = null;
  port = 0;
  url = '';
  /** Variables of a person other than the one who runs the tests, such as `HOME`. */
  person = {};

  static async create() {
    const core = new Core();
    core.home = await mkdtemp(join(tmpdir(), 'taskwarden-e2e-'));
    return core;
  }

  get environment() {
    const { PATH, HOME, LANG } = process.env;
    return { PATH, HOME, LANG, TASKWARDEN_HOME: this.home, NO_COLOR: '1', ...this.person };
  }

  /** Starts it and waits for the address that `serve --json` says. */
  async start() {
    const child = spawn(PROGRAM, ['serve', '--json', '--listen', `127.0.0.1:${this.port}`], {
      env: this.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (chunk) => (errors = (errors + chunk).slice(-4_000)));
    const told = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
      child.once('exit', (status) => reject(new Error(`the core ended with ${status}: ${errors}`)));
    });
    this.url = told.url;
    this.link = told.link;
    this.port = Number(new URL(told.url).port);
    return this;
  }

  async kill(signal = 'SIGKILL') {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  /** Stops it as it stands: its connections stay open, and nothing comes through them. */
  freeze() {
    this.#child.kill('SIGSTOP');
  }

  thaw() {
    this.#child?.kill('SIGCONT');
  }

  /** A command of the same program on the same directory; gives its standard output as JSON. */
  async command(...args) {
    // What follows two dashes belongs to somebody else's program.
    const end = args.includes('--') ? args.indexOf('--') : args.length;
    const child = spawn(PROGRAM, [...args.slice(0, end), '--json', ...args.slice(end)], { env: this.environment, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (out += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    const status = await new Promise((resolve) => child.once('close', resolve));
    if (status !== 0) throw new Error(`taskwarden ${args.join(' ')} ended with ${status}: ${errors}`);
    return out.trim() === '' ? null : JSON.parse(out);
  }

  /** A one-time code for another window; the one that `serve` said counts once. */
  async freshCode() {
    const { code } = await this.command('ui');
    return code;
  }

  addServer(name, url) {
    return this.command('servers', 'add', name, '--url', url, '--yes');
  }

  /** Starts a call without waiting for its end; gives the task. */
  call(server, tool, nonce) {
    return this.command('call', server, tool, '--args', JSON.stringify({ nonce }));
  }

  async remove() {
    // A stopped process takes no other signal.
    this.thaw();
    await this.kill('SIGTERM');
    await rm(this.home, { recursive: true, force: true });
  }
}
