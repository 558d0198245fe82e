// The real window, started by WebKitWebDriver and driven through the W3C protocol. Nothing in the program is built for
// this: the web view itself offers it when the driver's variable is set.
import { spawn } from 'node:child_process';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { until } from './until.mjs';

const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';

export class Window {
  #driver;
  #at;
  #session;
  /** What the driver started: the program itself. */
  #programs = [];

  static async open(program, environment) {
    const window = new Window();
    const port = await freePort();
    // Both names: the one of the tool that usually starts the driver, and the one the program reads.
    const env = { ...environment, TAURI_AUTOMATION: 'true', TAURI_WEBVIEW_AUTOMATION: 'true' };
    window.#driver = spawn('WebKitWebDriver', [`--port=${port}`], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    window.#at = `http://127.0.0.1:${port}`;
    await until('the driver to answer', () => window.#ask('GET', '/status').catch(() => undefined));
    const options = { 'webkitgtk:browserOptions': { binary: program, args: [] } };
    const { sessionId } = await window.#ask('POST', '/session', { capabilities: { alwaysMatch: options } });
    window.#session = `/session/${sessionId}`;
    window.#programs = await childrenOf(window.#driver.pid);
    return window;
  }

  async #ask(method, path, body) {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(this.#at + path, { method, headers, body: body && JSON.stringify(body) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${value?.error}: ${value?.message}`);
    return value;
  }

  /** Runs a function in the page and gives what it returns. */
  async run(script, ...args) {
    const source = `return (${script}).apply(null, arguments)`;
    return this.#ask('POST', `${this.#session}/execute/sync`, { script: source, args });
  }

  /** The same for a function that returns a promise. */
  async settle(script, ...args) {
    const source = `const args = [...arguments]; const done = args.pop();
      Promise.resolve((${script}).apply(null, args)).then((ok) => done({ ok }), (why) => done({ why: why?.message ?? String(why) }))`;
    return this.#ask('POST', `${this.#session}/execute/async`, { script: source, args });
  }

  /** Stops the program where it is; it answers nobody until it is thawed. */
  freeze() {
    for (const pid of this.#programs) process.kill(pid, 'SIGSTOP');
  }

  thaw() {
    for (const pid of this.#programs) process.kill(pid, 'SIGCONT');
  }

  text() {
    return this.run(() => document.body.innerText);
  }

  hash() {
    return this.run(() => location.hash);
  }

  async sees(words) {
    return until(`the window to show "${words}"`, async () => {
      const text = await this.text();
      return text.includes(words) && text;
    });
  }

  /** Clicks the visible control with these words, as a pointer does. */
  async click(words) {
    const selector = `//*[self::button or self::a or @role="menuitem" or @role="option"][contains(normalize-space(.), "${words}")]`;
    const element = await until(`a control "${words}"`, () =>
      this.#ask('POST', `${this.#session}/element`, { using: 'xpath', value: selector }).catch(() => undefined),
    );
    await this.#ask('POST', `${this.#session}/element/${element[ELEMENT]}/click`, {});
  }

  /** Presses one key, with modifiers held, wherever the focus is. */
  async press(key, ...held) {
    const down = (value) => ({ type: 'keyDown', value });
    const up = (value) => ({ type: 'keyUp', value });
    const actions = [...held.map(down), down(key), up(key), ...held.toReversed().map(up)];
    await this.#ask('POST', `${this.#session}/actions`, { actions: [{ type: 'key', id: 'keys', actions }] });
  }

  async picture(name) {
    const folder = process.env.TASKWARDEN_SHOTS;
    if (!folder) return;
    await mkdir(folder, { recursive: true });
    const data = await this.#ask('GET', `${this.#session}/screenshot`);
    await writeFile(join(folder, `window-${name}.png`), Buffer.from(data, 'base64'));
  }

  async close() {
    if (this.#session) await this.#ask('DELETE', this.#session).catch(() => undefined);
    this.#driver?.kill();
    // The driver only closes the window, and a closed window goes on in the tray.
    for (const pid of this.#programs) {
      if (isRunning(pid)) process.kill(pid, 'SIGTERM');
      await until('the program to end', () => !isRunning(pid));
    }
  }
}

/** Whether a process is there. */
export function isRunning(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The processes that this one started, as the system knows them. */
async function childrenOf(parent) {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')));
  // The name in brackets may hold anything; what follows it is `state parent …`.
  return pids.filter((_, at) => Number(stats[at].slice(stats[at].lastIndexOf(')') + 2).split(' ')[1]) === parent);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
