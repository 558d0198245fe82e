// A day of an agent of 2026-07-28 that knows tasks, on the door of all servers: the official TypeScript client 2.x with
// `ext-tasks`. It lists tools, calls quick ones, follows a task to its end and one to its failure, gets a result that is
// too large and reads it in slices, a prompt, a resource, an error. It keeps its own transcript.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { main, tell, token, url, words } from './story.mjs';
import { recorded, written } from './transcript.mjs';

const VERSION = '2026-07-28';
const info = { name: 'budget-modern', version: '1' };
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const bearer = { authorization: `Bearer ${token}` };

/** The host's own request path, which the package asks for. */
async function rawDispatch(request, options) {
  const message = request.id === undefined ? { jsonrpc: '2.0', id: crypto.randomUUID(), ...request } : request;
  const name = message.params?.name ?? message.params?.taskId;
  const headers = new Headers({ ...bearer, ...options?.context?.headers });
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json, text/event-stream');
  headers.set('mcp-protocol-version', VERSION);
  headers.set('mcp-method', message.method);
  if (name) headers.set('mcp-name', name);
  const response = await recorded(url, { method: 'POST', headers, body: JSON.stringify(message), signal: options?.signal });
  const text = await response.text();
  const events = text.split('\n').filter((line) => line.startsWith('data:')).map((line) => JSON.parse(line.slice(5)));
  const body = response.headers.get('content-type')?.startsWith('text/event-stream') ? events.findLast((event) => event.id === message.id) : JSON.parse(text);
  return body.error ? { kind: 'error', error: body } : { kind: 'result', result: body.result };
}

await main(async () => {
  const client = new Client(info, { capabilities, versionNegotiation: { mode: { pin: VERSION } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer }, fetch: recorded }));
  const framing = { protocolVersion: VERSION, clientInfo: info, clientCapabilities: capabilities };
  const session = createTaskSessionFromClient(client, { endpointId: 'gateway', rawDispatch, v2RequestFraming: framing });
  /** A call to its end, whatever it becomes. */
  const call = async (name, input) => {
    const execution = await session.callTool(name, input);
    const { outcome } = await execution.settle();
    return { kind: execution.kind, status: outcome.status, result: outcome.status === 'completed' ? resultFromTaskOutcome(outcome) : null };
  };

  const { tools } = await client.listTools();
  await client.listTools();
  const echoed = await client.callTool({ name: 'everything__echo', arguments: { message: 'Bienen summen 蜜蜂在跳舞 🐝 <|endoftext|> [1.0, 2e3]' } });
  await client.callTool({ name: 'everything__get-sum', arguments: { a: 40, b: 2.5 } });
  const failing = await client.callTool({ name: 'demo__tool_error', arguments: {} });
  const wrong = await client.callTool({ name: 'demo__no_such_tool', arguments: { why: 'to see an error' } }).then(() => null, (error) => error);
  const indexed = await call('demo__index_folder', { path: process.env.CLIENT_FOLDER });
  const flaky = await call('demo__flaky', {}).catch((error) => ({ status: 'failed', error: String(error) }));
  const prompt = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Zürich', state: 'ZH' } });
  const { resources } = await client.listResources();
  const read = await client.readResource({ uri: resources[0].uri });

  const held = await call('demo__huge_report', { tokens: 12_000, path: process.env.CLIENT_FOLDER });
  const link = held.result.content.find((block) => block.type === 'resource_link');
  const slices = [];
  for (let offset = 0; offset !== null; ) {
    const { contents } = await client.readResource({ uri: `${link.uri}?offset=${offset}&tokens=2500` });
    slices.push(contents[0].text);
    offset = contents[0]._meta?.['io.taskwarden/slice']?.next ?? null;
  }
  await written();
  tell('done', {
    tools: tools.length, echoed: words(echoed), failing: failing.isError, wrong: String(wrong), indexed: indexed.status, flaky: flaky.status,
    prompt: prompt.messages.length, read: read.contents.length, short: words(held.result), held: held.result._meta?.['io.taskwarden/held'],
    slices: slices.length, report: slices.join(''),
  });
});
