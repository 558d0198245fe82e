// The desktop of `desktop.py` as an object: what it heard, and what it is told to do.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from './until.mjs';

export class Desktop {
  heard = [];
  #child;

  static async start() {
    const desktop = new Desktop();
    const script = join(import.meta.dirname, 'desktop.py');
    desktop.#child = spawn('/usr/bin/python3', [script], { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: desktop.#child.stdout }).on('line', (line) => desktop.heard.push(JSON.parse(line)));
    await desktop.next('ready');
    return desktop;
  }

  /** The newest event of this kind after the first `after`, once there is one. */
  async next(event, after = 0, matches = () => true) {
    return until(`the desktop to hear \`${event}\``, () => {
      const failed = this.heard.find((one) => one.event === 'failed');
      if (failed) throw new Error(failed.why);
      return this.heard.slice(after).findLast((one) => one.event === event && matches(one));
    });
  }

  tell(order) {
    this.#child.stdin.write(`${JSON.stringify(order)}\n`);
  }

  async look() {
    return this.#ask({ do: 'tray' }, 'looked');
  }

  /** Chooses the line of the tray's menu with these words. */
  choose(label) {
    return this.#ask({ do: 'choose', label });
  }

  /** A click on the tray's icon. */
  activate() {
    return this.#ask({ do: 'activate' });
  }

  /** The service presses a button of a notice. */
  act(number, action) {
    return this.#ask({ do: 'act', number, action });
  }

  /** Another client of the bus sends the service's signals; they have passed the bus when this returns. */
  async forge(number, actions) {
    const script = join(import.meta.dirname, '../../src-tauri/crates/host/tests/cli/notifications/forger.py');
    const forger = spawn('/usr/bin/python3', [script, String(number), ...actions], { stdio: 'inherit' });
    const [code] = await once(forger, 'exit');
    if (code !== 0) throw new Error(`the forger ended with ${code}`);
  }

  /** The button in the frame of a window. */
  close(title) {
    return this.#ask({ do: 'close', title });
  }

  /** Keys together, whatever has the focus. */
  press(...keys) {
    return this.#ask({ do: 'press', keys });
  }

  /** The titles of what is on the display. */
  async windows() {
    return (await this.#ask({ do: 'windows' }, 'windows')).titles;
  }

  async #ask(order, event = 'done') {
    const after = this.heard.length;
    this.tell(order);
    return this.next(event, after);
  }

  stop() {
    this.#child?.stdin.end();
  }
}
