// A core with the lab and rmcp's task server behind it, one real program in front, and a person at the command line.
//
// A stage belongs to one scenario: data folder, program's home and processes are new, and all of them end with it.
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Core } from '../e2e/core.mjs';
import { Lab } from './lab.mjs';
import { END, ScriptedModel } from './model/model.mjs';

const TARGET = resolve(import.meta.dirname, '../../target/debug');
const PROGRAM = process.env.TASKWARDEN ?? join(TARGET, 'taskwarden');
const PEER = process.env.TASKWARDEN_RMCP_PEER ?? join(TARGET, 'rmcp-peer');
/** The longest a level is waited for. */
const LIMIT_MS = 60_000;
const LOOK_MS = 100;
/** Longer than any of the programs takes to read a list of tools again. */
const SETTLED_MS = 3_000;
/** What is kept of a program's own output, for the report of a scenario that fails. */
const OUTPUT_KEPT = 20_000;
/** What the report shows of it. */
const OUTPUT_TOLD = 500;

export class Broken extends Error {}

/** Fails the scenario with this sentence unless it holds. */
export function must(holds, sentence) {
  if (!holds) throw new Broken(sentence);
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until `level` gives something, at most for the limit. `what` may be a function that says it at the end. */
export async function until(what, level, limitMs = LIMIT_MS) {
  const end = Date.now() + limitMs;
  for (;;) {
    const value = await level();
    if (value) return value;
    if (Date.now() >= end) throw new Broken(`${typeof what === 'function' ? what() : what}: not within ${limitMs / 1_000} s`);
    await pause(LOOK_MS);
  }
}

/** Stages that are set now, for whoever ends the run. */
const set = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => Promise.allSettled([...set].map((stage) => stage.clear())).then(() => process.exit(130)));
}

export class Stage {
  #running = [];
  output = '';

  /** `policy`: lines of the core's `[policy]`; `timeoutMs`: the program's own tool timeout. */
  static async set(program, transport, { policy = {}, timeoutMs, isSearched } = {}) {
    const stage = new Stage();
    set.add(stage);
    Object.assign(stage, { program, transport, timeoutMs, isSearched });
    stage.folder = await mkdtemp(join(tmpdir(), `taskwarden-agents-${program.word}-`));
    stage.core = await Core.create();
    const lines = Object.entries(policy).map(([name, value]) => `"${name}" = ${JSON.stringify(value)}`);
    // A core that a bridge starts takes its settings from here and must leave the product's port alone.
    await writeFile(join(stage.core.home, 'config.toml'), ['listen = "off"', '[policy]', ...lines, ''].join('\n'));
    stage.lab = await new Lab().start();
    await stage.core.start();
    await stage.core.addServer('lab', stage.lab.url);
    stage.token = (await stage.core.command('agents', 'add', 'bee')).token;
    return stage;
  }

  /** Puts rmcp's server behind the gateway too, whose tasks outlive a core. */
  async addTasks() {
    const child = this.#start([PEER, 'http', '0'], process.env, this.folder);
    const url = await new Promise((resolve) => createInterface({ input: child.stdout }).once('line', resolve));
    await this.core.addServer('tasks', url.trim());
  }

  /** How the program reaches the gateway. */
  get way() {
    if (this.transport === 'http') return { kind: 'http', url: `http://127.0.0.1:${this.core.port}/mcp`, token: this.token };
    const env = { TASKWARDEN_HOME: this.core.home, TASKWARDEN_TOKEN: this.token };
    return { kind: 'stdio', command: [PROGRAM, 'connect', '--agent', 'bee'], env };
  }

  /** Runs the program on a script to its end; gives the model, which remembers what it received. */
  async play(script, { limitMs = 120_000 } = {}) {
    const { model, ended } = await this.begin(script);
    const first = await Promise.race([ended, pause(limitMs).then(() => 'late')]);
    must(first !== 'late', `the program was still running after ${limitMs / 1_000} s: ${told(model)}`);
    must(model.faults.length === 0, model.faults.join('\n'));
    must(model.isDone, `the program ended with ${first} before its model said "${END}": ${told(model)}`);
    return model;
  }

  /** Plays a script while a person acts; both must succeed. */
  async playWhile(script, act, limits) {
    const [model] = await Promise.all([this.play(script, limits), act()]);
    return model;
  }

  /** Until news of the server have passed the gateway: nobody is told when they have reached the program. */
  async settled() {
    await pause(SETTLED_MS);
  }

  /** Starts the program on a script. `ended` is its exit code. */
  async begin(script) {
    const model = await new ScriptedModel(script).start();
    this.model = model;
    const home = join(this.folder, 'home');
    const place = join(this.folder, 'work');
    await mkdir(home, { recursive: true });
    await mkdir(place, { recursive: true });
    const { way, timeoutMs, isSearched } = this;
    const { command, env } = await this.program.prepare({ home, model, way, timeoutMs, isSearched });
    const { LANG } = process.env;
    const PATH = [dirname(process.execPath), process.env.PATH].join(':');
    const quiet = { NO_COLOR: '1', NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost' };
    const child = this.#start(command, { PATH, LANG, HOME: home, ...quiet, ...env }, place);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (this.output = (this.output + chunk).slice(-OUTPUT_KEPT)));
    }
    const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
    return { model, ended, child };
  }

  /** A session of its own, as a terminal would give it: nothing of it counts as the person's, and all of it can be ended. */
  #start(command, env, cwd) {
    const child = spawn(command[0], command.slice(1), { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#running.push(child);
    return child;
  }

  /** A command of the person. */
  command(...args) {
    return this.core.command(...args);
  }

  async tasks() {
    return (await this.core.command('tasks', 'list')).tasks ?? [];
  }

  /** The agent's task of this tool, once it is in one of these phases. */
  task(tool, ...phases) {
    const is = (task) => task.tool === tool && (phases.length === 0 || phases.includes(task.phase));
    return until(`a task of \`${tool}\` is ${phases.join(' or ')}`, async () => (await this.tasks()).find(is));
  }

  /** Kills the core and brings one back. */
  async killCore() {
    await this.core.kill('SIGKILL');
    await this.restartCore();
  }

  /** Starts the core on its port, unless a bridge brought one meanwhile. */
  restartCore() {
    // A core that a bridge brought meanwhile is an answer, too; why there is none is what the reader of a failure needs.
    let why = [];
    return until(() => `a core answers again (${why.join('; ')})`, async () => {
      const started = await this.core.start().then(() => null, (error) => error.message);
      const answered = await this.core.command('servers', 'list').then(() => null, (error) => error.message);
      why = [started, answered];
      return answered === null;
    });
  }

  /** What a scenario that failed leaves behind for its reader. */
  report() {
    return `${this.model ? told(this.model) : 'the program was not started'}\nprogram: ${this.output.slice(-OUTPUT_TOLD)}`;
  }

  async clear() {
    set.delete(this);
    for (const child of this.#running) endGroup(child.pid);
    const pid = Number(await readFile(join(this.core.home, 'core.lock'), 'utf8').catch(() => ''));
    await this.core.kill('SIGTERM');
    // A core that a bridge started belongs to nobody here but to this folder.
    const environment = pid > 1 ? await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '') : '';
    if (environment.includes(this.core.home)) process.kill(pid, 'SIGKILL');
    await this.model?.stop();
    await this.lab.end();
    await this.core.remove();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** The conversation as the model had it, shortened. */
export function told(model) {
  const lines = model.turns.map(({ results, replied }) => {
    const read = results.map(({ text, isError }) => `${isError ? '(error) ' : ''}${text.slice(0, 600)}`);
    const did = replied ? [replied.text, ...replied.calls.map(({ name, args }) => `${name} ${JSON.stringify(args)}`)] : ['(thinks)'];
    return `  read: ${read.join(' | ') || 'nothing'}\n  did: ${did.filter(Boolean).join(', ')}`;
  });
  return lines.length > 0 ? `\n${lines.join('\n')}` : `no turn; other requests: ${model.others.join(', ')}`;
}
