// The desktop of `desktop.py` as an object: what it heard, and what it is told to do.
import { spawn } from 'node:child_process';
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
    const after = this.heard.length;
    this.tell({ do: 'tray' });
    return this.next('looked', after);
  }

  async choose(label) {
    const after = this.heard.length;
    this.tell({ do: 'choose', label });
    await this.next('chosen', after);
  }

  stop() {
    this.#child?.stdin.end();
  }
}
