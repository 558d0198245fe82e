// An agent's client of the 2026-07-28 dialect over HTTP, written against the protocol: what it reads from the settings
// that were shown for it is all that it knows of Taskwarden.
const META = 'io.modelcontextprotocol/';
const TASKS = 'io.modelcontextprotocol/tasks';

export class Agent {
  #settings;
  #url;
  #authorization;
  #next = 1;

  /** `settings`: the JSON for programs that speak HTTP, as the window shows it; `server` narrows it to one. */
  constructor(settings, server) {
    this.#settings = settings;
    const [entry] = Object.values(JSON.parse(settings).mcpServers);
    this.#url = `${entry.url}/${server}`;
    this.#authorization = entry.headers.Authorization;
  }

  /** The same agent at another server. */
  at(server) {
    return new Agent(this.#settings, server);
  }

  /** The status and the answer of one request. */
  async send(method, params = {}) {
    const name = method === 'tools/call' ? params.name : (params.taskId ?? params.uri);
    const headers = {
      'content-type': 'application/json', accept: 'application/json, text/event-stream', authorization: this.#authorization,
      'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name === undefined ? {} : { 'mcp-name': name }),
    };
    const meta = {
      [`${META}protocolVersion`]: '2026-07-28', [`${META}clientInfo`]: { name: 'journey', version: '1' },
      [`${META}clientCapabilities`]: { extensions: { [TASKS]: {} } },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: this.#next++, method, params: { ...params, _meta: meta } });
    const response = await fetch(this.#url, { method: 'POST', headers, body });
    const text = await response.text();
    const data = text.split('\n').filter((line) => line.startsWith('data: ')).at(-1)?.slice(6) ?? text;
    return { status: response.status, ...(response.headers.get('content-type')?.startsWith('text/plain') ? { text } : JSON.parse(data)) };
  }

  /** Calls a tool; gives the result, which is a handle when it became a task. */
  async call(tool, nonce) {
    const { result, error } = await this.send('tools/call', { name: tool, arguments: { nonce } });
    if (error) throw new Error(`tools/call: ${JSON.stringify(error)}`);
    return result;
  }

  async task(taskId) {
    const { result, error } = await this.send('tasks/get', { taskId });
    if (error) throw new Error(`tasks/get: ${JSON.stringify(error)}`);
    return result;
  }

  /** The text of a resource from a character on, and where the next slice begins; null at the end. */
  async slice(uri, offset) {
    const { result, error } = await this.send('resources/read', { uri: `${uri}?offset=${offset}` });
    if (error) throw new Error(`resources/read: ${JSON.stringify(error)}`);
    const [{ text, _meta }] = result.contents;
    return { text, next: _meta['io.taskwarden/slice'].next };
  }
}

/** Adds an agent in the window and gives its client, made from nothing but the settings on the screen. */
export async function addAgent(page, core, name) {
  await page.goto(`${core.url}#/agents`);
  await page.getByRole('button', { name: 'Connect an agent' }).click();
  const panel = page.getByRole('complementary', { name: 'Connect an agent' });
  await panel.getByRole('textbox', { name: 'Name' }).fill(name);
  await page.keyboard.press('Enter');
  await panel.getByText(`${name} may connect`).waitFor();
  const settings = await panel.getByLabel('Over HTTP, in ~/.claude.json', { exact: true }).textContent();
  return new Agent(settings, 'ci');
}
