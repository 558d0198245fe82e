// What a journey with one server needs: a browser for the file, a fresh core and server for each test, and at its end
// the proof that nothing was sent which a strict server would refuse.
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { openBrowser } from './browser.mjs';
import { Core } from './core.mjs';
import { ScriptedServer } from './scripted-server.mjs';

/** Sets the hooks of the calling file; the members are filled before each test. */
export function stage() {
  const on = { browser: null, core: null, server: null };
  beforeAll(async () => {
    on.browser = await openBrowser();
  });
  afterAll(() => on.browser?.close());
  beforeEach(async () => {
    on.core = await (await Core.create()).start();
    on.server = await new ScriptedServer('ci').start();
    await on.core.addServer('ci', on.server.url);
  });
  afterEach(async () => {
    await on.server.stop();
    await on.core.remove();
    expect(on.server.violations, 'what a strict server would refuse').toEqual([]);
  });
  return on;
}
