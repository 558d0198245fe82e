// What the official conformance runner asks a server for, on the official TypeScript SDK: a peer whose protocol code we
// did not write. `node fixtures.mjs modern|legacy` prints its address. Modern is 2026-07-28 alone; legacy is sessions.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import {
  MissingRequiredClientCapabilityError,
  Server,
  WebStandardStreamableHTTPServerTransport,
  createMcpHandler,
  createRequestStateCodec,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  originValidationResponse,
  localhostAllowedOrigins,
} from '@modelcontextprotocol/server';

const modern = process.argv[2] === 'modern';
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const codec = createRequestStateCodec({ key: 'a key of the fixtures that is long enough', ttlSeconds: 600 });
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (words) => ({ content: [{ type: 'text', text: words }] });
const object = (properties = {}, required = []) => ({ type: 'object', properties, required });
const form = (message, properties) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: object(properties, Object.keys(properties)) },
});
const sampling = (words, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: words } }], maxTokens },
});
const roots = { method: 'roots/list', params: {} };
const needs = async (inputRequests, state) => ({
  resultType: 'input_required',
  inputRequests,
  ...(state === undefined ? {} : { requestState: await codec.mint(state) }),
});

const RICH = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
const choices = (...names) => names.map((title, at) => ({ const: `value${at + 1}`, title }));
const ENUMS = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: choices('First Option', 'Second Option', 'Third Option') },
  legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['Option One', 'Option Two', 'Option Three'] },
  untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
  titledMulti: { type: 'array', items: { anyOf: choices('First Choice', 'Second Choice', 'Third Choice') } },
};
const DEFAULTS = {
  name: { type: 'string', default: 'John Doe' },
  age: { type: 'integer', default: 30 },
  score: { type: 'number', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', default: true },
};
const page = { uri: 'test://embedded-resource', mimeType: 'text/plain', text: 'This is an embedded resource content.' };
const mixed = { uri: 'test://mixed-content-resource', mimeType: 'application/json', text: '{"test":"data","value":123}' };
const picture = { type: 'image', data: PICTURE, mimeType: 'image/png' };

/** A tool that asks in rounds: each round gives what to ask, or the result. */
const asks = (rounds) => async (call) => {
  const said = call.inputResponses ?? {};
  return rounds(said, call.state, call);
};
const content = (answer) => answer?.content ?? answer?.result?.content;

const ASKING = {
  test_input_required_result_elicitation: asks(async (said) => {
    const name = content(said.user_name)?.name;
    return typeof name === 'string' ? text(`Hello, ${name}!`) : needs({ user_name: form('What is your name?', { name: { type: 'string' } }) });
  }),
  test_input_required_result_sampling: asks(async (said) =>
    said.capital_question
      ? text(`The model said: ${JSON.stringify(said.capital_question)}`)
      : needs({ capital_question: sampling('What is the capital of France?') }),
  ),
  test_input_required_result_list_roots: asks(async (said) =>
    said.client_roots ? text(`Roots: ${JSON.stringify(said.client_roots)}`) : needs({ client_roots: roots }),
  ),
  test_input_required_result_request_state: asks(async (said, state) =>
    said.confirm && state ? text('state-ok') : needs({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { at: 1 }),
  ),
  test_input_required_result_tampered_state: asks(async (said, state) =>
    said.confirm && state ? text('state-ok') : needs({ confirm: form('Please confirm', { ok: { type: 'boolean' } }) }, { at: 1 }),
  ),
  test_input_required_result_multiple_inputs: asks(async (said) =>
    said.user_name && said.greeting && said.client_roots
      ? text(`All: ${JSON.stringify(said)}`)
      : needs(
          {
            user_name: form('What is your name?', { name: { type: 'string' } }),
            greeting: sampling('Generate a greeting', 50),
            client_roots: roots,
          },
          { at: 1 },
        ),
  ),
  test_input_required_result_multi_round: asks(async (said, state) => {
    if (said.step2 && state?.name) return text(`${state.name} likes ${content(said.step2)?.color}`);
    if (said.step1)
      return needs({ step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }) }, { name: content(said.step1)?.name ?? 'nobody' });
    return needs({ step1: form('Step 1: What is your name?', { name: { type: 'string' } }) }, { at: 1 });
  }),
  test_input_required_result_capabilities: asks(async (said, _, call) => {
    if (Object.keys(said).length > 0) return text('asked for what was declared');
    const may = call.capabilities ?? {};
    const all = {
      ...(may.elicitation ? { name: form('What is your name?', { name: { type: 'string' } }) } : {}),
      ...(may.sampling ? { model: sampling('Say something') } : {}),
      ...(may.roots ? { roots } : {}),
    };
    return Object.keys(all).length > 0 ? needs(all) : text('nothing may be asked');
  }),
};

const TOOLS = {
  test_simple_text: async () => text('This is a simple text response for testing.'),
  test_image_content: async () => ({ content: [picture] }),
  test_audio_content: async () => ({ content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }] }),
  test_embedded_resource: async () => ({ content: [{ type: 'resource', resource: page }] }),
  test_multiple_content_types: async () => ({
    content: [{ type: 'text', text: 'Multiple content types test:' }, picture, { type: 'resource', resource: mixed }],
  }),
  test_error_handling: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  test_tool_with_logging: async (_, ctx) => {
    for (const words of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.log('info', words);
      await pause(50);
    }
    return text('logged three times');
  },
  test_tool_with_progress: async (call, ctx) => {
    for (const progress of [0, 50, 100]) {
      if (call.token !== undefined)
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: call.token, progress, total: 100 } });
      await pause(50);
    }
    return text('went from 0 to 100');
  },
  test_header_mirror: async (call) => text(`mirrored ${JSON.stringify(call.arguments)}`),
  json_schema_2020_12_tool: async () => text('accepted'),
  test_logging_tool: async (_, ctx) => {
    await ctx.mcpReq.log('info', 'said only to who asked for it');
    return text('logged');
  },
  test_missing_capability: async (call) => {
    if (call.capabilities?.sampling) return text('sampling is declared');
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } });
  },
  test_streaming_elicitation: async (call, ctx) => {
    await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken: call.token ?? 'none', progress: 1 } });
    return call.inputResponses?.go ? text('gone on') : needs({ go: form('Go on?', { ok: { type: 'boolean' } }) });
  },
  test_trigger_tool_change: async () => {
    setTimeout(() => handler.notify.toolsChanged(), 20);
    return text('the tools changed');
  },
  test_trigger_prompt_change: async () => {
    setTimeout(() => handler.notify.promptsChanged(), 20);
    return text('the prompts changed');
  },
  ...(modern ? ASKING : {}),
};
if (!modern) {
  const words = (answer) => `action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`;
  TOOLS.test_sampling = async (call, ctx) => {
    const said = await ctx.mcpReq.requestSampling(sampling(call.arguments.prompt ?? '').params);
    return text(`LLM response: ${said.content?.text ?? JSON.stringify(said.content)}`);
  };
  TOOLS.test_elicitation = async (call, ctx) => {
    const asked = form(call.arguments.message ?? '', {
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    });
    return text(`User response: ${words(await ctx.mcpReq.elicitInput(asked.params))}`);
  };
  TOOLS.test_elicitation_sep1034_defaults = async (_, ctx) =>
    text(`Elicitation completed: ${words(await ctx.mcpReq.elicitInput({ mode: 'form', message: 'Defaults', requestedSchema: object(DEFAULTS) }))}`);
  TOOLS.test_elicitation_sep1330_enums = async (_, ctx) =>
    text(`Elicitation completed: ${words(await ctx.mcpReq.elicitInput({ mode: 'form', message: 'Choices', requestedSchema: object(ENUMS) }))}`);
  TOOLS.test_reconnection = async (_, ctx) => {
    ctx.http?.closeSSE?.();
    await pause(100);
    return text('told after the stream was closed');
  };
}
const SCHEMAS = {
  json_schema_2020_12_tool: RICH,
  test_sampling: object({ prompt: { type: 'string' } }, ['prompt']),
  test_elicitation: object({ message: { type: 'string' } }, ['message']),
  test_header_mirror: object({ region: { type: 'string', 'x-mcp-header': 'Region' } }, []),
};

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PICTURE },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched.' },
};
const say = (...parts) => ({ messages: parts.map((content) => ({ role: 'user', content })) });
const PROMPTS = {
  test_simple_prompt: { arguments: [], get: async () => say({ type: 'text', text: 'This is a simple prompt for testing.' }) },
  test_prompt_with_arguments: {
    arguments: [{ name: 'arg1', required: true }, { name: 'arg2', required: true }],
    get: async (given) => say({ type: 'text', text: `Prompt with arguments: arg1='${given.arg1}', arg2='${given.arg2}'` }),
  },
  test_prompt_with_embedded_resource: {
    arguments: [{ name: 'resourceUri', required: true }],
    get: async (given) =>
      say(
        { type: 'resource', resource: { uri: given.resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' } },
        { type: 'text', text: 'Please process the embedded resource above.' },
      ),
  },
  test_prompt_with_image: { arguments: [], get: async () => say(picture, { type: 'text', text: 'Please analyze the image above.' }) },
  ...(modern
    ? {
        test_input_required_result_prompt: {
          arguments: [],
          get: async (_, said) =>
            said?.user_context
              ? say({ type: 'text', text: `In the context of ${JSON.stringify(said.user_context)}` })
              : needs({ user_context: form('What context should the prompt use?', { context: { type: 'string' } }) }),
        },
      }
    : {}),
};

function server() {
  const hint = { ttlMs: 60_000, cacheScope: 'public' };
  const capabilities = { tools: { listChanged: true }, prompts: { listChanged: true }, resources: { subscribe: true }, completions: {}, logging: {} };
  const options = { capabilities, requestState: { verify: codec.verify } };
  const made = new Server({ name: 'fixtures', version: '1' }, options);
  const cached = (result) => (modern ? { ...result, ...hint } : result);
  made.setRequestHandler('tools/list', async () =>
    cached({ tools: Object.keys(TOOLS).map((name) => ({ name, description: `Fixture ${name}.`, inputSchema: SCHEMAS[name] ?? object() })) }),
  );
  made.setRequestHandler('tools/call', async (request, ctx) => {
    const tool = TOOLS[request.params.name];
    if (!tool) throw Object.assign(new Error(`Unknown tool: ${request.params.name}`), { code: -32602 });
    const call = {
      arguments: request.params.arguments ?? {},
      token: request.params._meta?.progressToken ?? ctx.mcpReq._meta?.progressToken,
      inputResponses: ctx.mcpReq.inputResponses,
      state: modern ? ctx.mcpReq.requestState() : undefined,
      capabilities: ctx.mcpReq._meta?.['io.modelcontextprotocol/clientCapabilities'] ?? ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'],
    };
    return tool(call, ctx);
  });
  made.setRequestHandler('prompts/list', async () =>
    cached({ prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({ name, description: `Fixture ${name}.`, arguments: prompt.arguments })) }),
  );
  made.setRequestHandler('prompts/get', async (request, ctx) => {
    const prompt = PROMPTS[request.params.name];
    if (!prompt) throw Object.assign(new Error(`Unknown prompt: ${request.params.name}`), { code: -32602 });
    return prompt.get(request.params.arguments ?? {}, ctx.mcpReq.inputResponses);
  });
  made.setRequestHandler('resources/list', async () =>
    cached({ resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({ uri, name: uri, description: `Fixture ${uri}.`, mimeType })) }),
  );
  made.setRequestHandler('resources/templates/list', async () =>
    cached({ resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' }] }),
  );
  made.setRequestHandler('resources/read', async (request) => {
    const { uri } = request.params;
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
    const found = id
      ? { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }) }
      : RESOURCES[uri];
    if (!found) throw Object.assign(new Error('Resource not found'), { code: -32602, data: { uri } });
    return cached({ contents: [{ uri, ...found }] });
  });
  made.setRequestHandler('completion/complete', async (request) => {
    const begun = request.params.argument.value;
    const values = ['paris', 'park', 'party'].filter((word) => word.startsWith(begun));
    return { completion: { values, total: values.length, hasMore: false } };
  });
  if (!modern) {
    made.setRequestHandler('resources/subscribe', async () => ({}));
    made.setRequestHandler('resources/unsubscribe', async () => ({}));
  }
  return made;
}

/** Events of a session, so that a client whose stream was closed gets the rest. */
class Events {
  #events = [];
  async storeEvent(stream, message) {
    const id = `${stream}_${this.#events.length}`;
    this.#events.push({ id, stream, message });
    return id;
  }
  async getStreamIdForEventId(id) {
    return this.#events.find((event) => event.id === id)?.stream;
  }
  async replayEventsAfter(id, { send }) {
    const from = this.#events.findIndex((event) => event.id === id);
    const stream = this.#events[from]?.stream ?? id.slice(0, id.lastIndexOf('_'));
    for (const event of this.#events.slice(from + 1)) if (event.stream === stream) await send(event.id, event.message);
    return stream;
  }
}

const sessions = new Map();
async function legacy(request) {
  const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
  if (known) return known.handleRequest(request);
  if (request.headers.get('mcp-session-id'))
    return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } }, { status: 404 });
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    eventStore: new Events(),
    retryInterval: 500,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await server().connect(transport);
  return transport.handleRequest(request);
}

/** `Mcp-Param-Region` against the argument it mirrors; the SDK leaves this check to the server. */
async function mirror(request) {
  const said = await request.clone().json().catch(() => null);
  if (said?.params?.name !== 'test_header_mirror') return undefined;
  const header = request.headers.get('mcp-param-region');
  const wrapped = /^=\?base64\?(.*)\?=$/.exec(header ?? '')?.[1];
  const value = wrapped === undefined ? header : Buffer.from(wrapped, 'base64').toString();
  const isSound = wrapped === undefined || Buffer.from(value).toString('base64') === wrapped;
  if (isSound && (value ?? undefined) === said.params.arguments?.region) return undefined;
  const error = { code: -32020, message: '`Mcp-Param-Region` is not the argument `region`' };
  return Response.json({ jsonrpc: '2.0', id: said.id ?? null, error }, { status: 400 });
}

const handler = createMcpHandler(server, { legacy: 'reject' });
const serve = async (request) =>
  hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
  originValidationResponse(request, localhostAllowedOrigins()) ??
  (await mirror(request)) ??
  (modern ? handler.fetch(request) : legacy(request));
const listening = createServer(getRequestListener(serve, { overrideGlobalObjects: false }));
listening.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => console.log(`http://127.0.0.1:${listening.address().port}/mcp`));
