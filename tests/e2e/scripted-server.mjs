// A real MCP server on loopback (2026-07-28 dialect with tasks and push) that does what a journey tells it to.
//
// It is written against the protocol, not against our client: every request's headers and metadata are checked and what
// a strict server would refuse is kept in `violations`, which every journey asserts to be empty.
// Tools: `work` (runs until told), `deploy` (destructive, runs until told), `echo` (answers at once).
import { createServer } from 'node:http';
import { LIMIT_MS } from './level.mjs';

const TASKS = 'io.modelcontextprotocol/tasks';
const META = 'io.modelcontextprotocol/';

const schema = {
  type: 'object',
  properties: { nonce: { type: 'string', description: 'Names this run in the test' } },
  required: ['nonce'],
};

const TOOLS = [
  { name: 'work', title: 'Long work', description: 'Runs until it is told to end.', inputSchema: schema },
  { name: 'deploy', description: 'Deploys, and cannot be undone.', inputSchema: schema, annotations: { destructiveHint: true } },
  { name: 'echo', description: 'Answers at once.', inputSchema: schema, annotations: { readOnlyHint: true } },
];

/** How a server treats `tasks/cancel`: obeys, acknowledges and goes on, or finishes first. */
export const OBEYS = 'obeys';
export const IGNORES = 'ignores';
export const OVERTAKES = 'overtakes';

export class ScriptedServer {
  #http;
  #port = 0;
  #tasks = new Map();
  #listeners = new Set();
  #next = 1;
  violations = [];
  calls = [];
  answers = [];
  cancels = [];
  onCancel = OBEYS;
  pollIntervalMs = 1_000;

  /** `tools`: pairs of a name and its annotations, all of them long work, instead of the three of its own. */
  constructor(name, tools = null) {
    this.name = name;
    this.tools = tools === null ? TOOLS : tools.map(([tool, annotations]) => ({ name: tool, inputSchema: schema, annotations }));
  }

  get url() {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  /** Starts, on the same port as before when it was stopped. */
  async start() {
    this.#http = createServer((request, response) => this.#take(request, response));
    await new Promise((resolve, reject) => {
      this.#http.once('error', reject);
      this.#http.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = this.#http.address().port;
    return this;
  }

  /** Goes away: open streams break, nothing is answered. Its tasks stay, as on a server that restarts. */
  async stop() {
    for (const listener of this.#listeners) listener.response.destroy();
    this.#listeners.clear();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  /** The task that a call with this nonce made; waits for it. */
  async task(nonce, limitMs = LIMIT_MS) {
    const until = Date.now() + limitMs;
    for (;;) {
      const found = [...this.#tasks.values()].find((task) => task.nonce === nonce);
      if (found) return found;
      if (Date.now() > until) throw new Error(`no task ${nonce} on ${this.name}; calls: ${JSON.stringify(this.calls)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  say(task, message) {
    this.#change(task, { statusMessage: message });
  }

  ask(task, key, message, requestedSchema) {
    const params = { mode: 'form', message, requestedSchema };
    this.#change(task, { status: 'input_required', inputRequests: { ...task.inputRequests, [key]: { method: 'elicitation/create', params } } });
  }

  askLink(task, key, message, url) {
    const params = { mode: 'url', message, url, elicitationId: `${task.taskId}-${key}` };
    this.#change(task, { status: 'input_required', inputRequests: { ...task.inputRequests, [key]: { method: 'elicitation/create', params } } });
  }

  finish(task, content, more = {}) {
    this.#change(task, { status: 'completed', inputRequests: {}, result: { content, ...more } });
  }

  fail(task, code, message) {
    this.#change(task, { status: 'failed', inputRequests: {}, error: { code, message } });
  }

  forget(task) {
    this.#tasks.delete(task.taskId);
  }

  #change(task, fields) {
    Object.assign(task, fields, { lastUpdatedAt: new Date().toISOString() });
    for (const listener of this.#listeners) {
      if (!listener.tasks.includes(task.taskId)) continue;
      const params = { ...this.#shown(task), _meta: { [`${META}subscriptionId`]: listener.id } };
      delete params.resultType;
      listener.response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/tasks', params })}\n\n`);
    }
  }

  #shown(task) {
    const { taskId, status, createdAt, lastUpdatedAt, statusMessage } = task;
    const shown = { resultType: 'complete', taskId, status, createdAt, lastUpdatedAt, ttlMs: task.ttlMs, pollIntervalMs: this.pollIntervalMs };
    if (statusMessage) shown.statusMessage = statusMessage;
    if (status === 'input_required') shown.inputRequests = task.inputRequests;
    if (status === 'completed') shown.result = task.result;
    if (status === 'failed') shown.error = task.error;
    return shown;
  }

  async #take(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== 'POST') return response.writeHead(405).end();
    let message;
    try {
      message = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    } catch {
      this.violations.push('a body that is not JSON');
      return response.writeHead(400).end();
    }
    const { id, method, params = {} } = message;
    const reply = (status, body) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }));
    };
    if (method === 'initialize') {
      const data = { supported: ['2026-07-28'], requested: params.protocolVersion ?? '' };
      return reply(400, { error: { code: -32022, message: 'unsupported version', data } });
    }
    this.#check(request.headers, method, params);
    if (method === 'subscriptions/listen') return this.#listen(id, params, response);
    const answered = this.#answer(method, params);
    return answered.refusal ? reply(answered.http ?? 200, { error: answered.refusal }) : reply(200, { result: answered });
  }

  #listen(id, params, response) {
    const tasks = (params.notifications?.taskIds ?? []).filter((task) => this.#tasks.has(task));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
    const acknowledged = {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { taskIds: tasks }, _meta: { [`${META}subscriptionId`]: id } },
    };
    response.write(`data: ${JSON.stringify(acknowledged)}\n\n`);
    const listener = { id, tasks, response };
    this.#listeners.add(listener);
    response.on('close', () => this.#listeners.delete(listener));
  }

  #check(headers, method, params) {
    const wrong = (what) => this.violations.push(`${method}: ${what}`);
    if (headers['mcp-protocol-version'] !== '2026-07-28') wrong(`MCP-Protocol-Version is ${headers['mcp-protocol-version']}`);
    if (headers['mcp-method'] !== method) wrong(`Mcp-Method is ${headers['mcp-method']}`);
    const name = method === 'tools/call' ? params.name : params.taskId;
    if (name !== undefined && headers['mcp-name'] !== name) wrong('Mcp-Name does not match');
    const capabilities = params._meta?.[`${META}clientCapabilities`];
    if (!params._meta?.[`${META}protocolVersion`] || !capabilities) wrong('_meta is incomplete');
    const usesTasks = method.startsWith('tasks/') || method === 'tools/call';
    if (usesTasks && !capabilities?.extensions?.[TASKS]) wrong('the tasks extension is not declared');
  }

  #answer(method, params) {
    switch (method) {
      case 'server/discover':
        return {
          resultType: 'complete', supportedVersions: ['2026-07-28'], ttlMs: 0, cacheScope: 'private',
          capabilities: { tools: {}, extensions: { [TASKS]: {} } },
          _meta: { [`${META}serverInfo`]: { name: this.name, version: '1' } },
        };
      case 'tools/list':
        return { resultType: 'complete', tools: this.tools, ttlMs: 0, cacheScope: 'private' };
      case 'tools/call':
        return this.#call(params);
      case 'tasks/get':
        return this.#known(params, (task) => this.#shown(task));
      case 'tasks/update':
        return this.#known(params, (task) => this.#update(task, params.inputResponses ?? {}));
      case 'tasks/cancel':
        return this.#known(params, (task) => this.#cancel(task));
      default:
        return { http: 404, refusal: { code: -32601, message: 'no such method' } };
    }
  }

  #known({ taskId }, act) {
    const task = this.#tasks.get(taskId);
    return task ? act(task) : { refusal: { code: -32602, message: 'unknown task' } };
  }

  #call({ name, arguments: given = {} }) {
    this.calls.push({ name, nonce: given.nonce });
    if (name === 'echo') return { resultType: 'complete', content: [{ type: 'text', text: `echo ${given.nonce}` }] };
    if (!this.tools.some((tool) => tool.name === name)) return { refusal: { code: -32602, message: `unknown tool ${name}` } };
    const at = new Date().toISOString();
    const taskId = `${this.name}-task-${this.#next++}`;
    this.#tasks.set(taskId, { taskId, nonce: given.nonce, status: 'working', createdAt: at, lastUpdatedAt: at, ttlMs: null, inputRequests: {} });
    return { resultType: 'task', taskId, status: 'working', createdAt: at, lastUpdatedAt: at, ttlMs: null, pollIntervalMs: this.pollIntervalMs };
  }

  #update(task, responses) {
    for (const [key, response] of Object.entries(responses)) {
      if (!task.inputRequests[key]) continue;
      this.answers.push({ nonce: task.nonce, key, at: Date.now(), ...response });
      const { [key]: _answered, ...rest } = task.inputRequests;
      this.#change(task, { inputRequests: rest, status: Object.keys(rest).length > 0 ? 'input_required' : 'working' });
    }
    return { resultType: 'complete' };
  }

  #cancel(task) {
    this.cancels.push({ nonce: task.nonce, at: performance.timeOrigin + performance.now() });
    if (task.status === 'working' || task.status === 'input_required') {
      if (this.onCancel === OBEYS) this.#change(task, { status: 'cancelled', inputRequests: {} });
      if (this.onCancel === OVERTAKES) this.finish(task, [{ type: 'text', text: 'it was finished before' }]);
    }
    return { resultType: 'complete' };
  }
}
