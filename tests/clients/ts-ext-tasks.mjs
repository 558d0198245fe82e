// The official TypeScript client 2.x with `ext-tasks`: 2026-07-28 over HTTP, the client declares tasks.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { CALLS, main, pause, story, tell, token, told, url, words } from './story.mjs';

const VERSION = '2026-07-28';
const info = { name: 'ts-ext-tasks', version: '1' };
const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const bearer = token ? { authorization: `Bearer ${token}` } : {};

/** The host's own request path, which the package asks for; a server that is away for a moment is asked again. */
async function rawDispatch(request, options) {
  const message = request.id === undefined ? { jsonrpc: '2.0', id: crypto.randomUUID(), ...request } : request;
  const name = message.params?.name ?? message.params?.taskId;
  const headers = new Headers({ ...bearer, ...options?.context?.headers });
  headers.set('content-type', 'application/json');
  headers.set('accept', 'application/json, text/event-stream');
  headers.set('mcp-protocol-version', VERSION);
  headers.set('mcp-method', message.method);
  if (name) headers.set('mcp-name', name);
  for (let attempt = 0; ; attempt++) {
    try {
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message), signal: options?.signal });
      const text = await response.text();
      const body = response.headers.get('content-type')?.startsWith('text/event-stream')
        ? text.split('\n').filter((line) => line.startsWith('data:')).map((line) => JSON.parse(line.slice(5))).findLast((event) => event.id === message.id)
        : JSON.parse(text);
      if (process.env.CLIENT_WIRE) console.error(JSON.stringify(message), text);
      return body.error ? { kind: 'error', error: body } : { kind: 'result', result: body.result };
    } catch (error) {
      if (attempt > 400 || options?.signal?.aborted) throw error;
      tell('away', { message: String(error?.cause?.code ?? error) });
      await pause(200);
    }
  }
}

await main(async () => {
  const client = new Client(info, { capabilities, versionNegotiation: { mode: { pin: VERSION } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer } }));
  tell('connected', { version: client.getNegotiatedProtocolVersion?.() ?? VERSION });
  const framing = { protocolVersion: VERSION, clientInfo: info, clientCapabilities: capabilities };
  const session = createTaskSessionFromClient(client, { endpointId: 'gateway', rawDispatch, v2RequestFraming: framing });
  const execution = await session.callTool(...CALLS[story]);
  tell('started', { kind: execution.kind, task: execution.handle?.taskId });
  if (story === 'cancel') {
    await told();
    await execution.cancel();
  }
  const { outcome } = await execution.settle();
  tell('done', { status: outcome.status, text: outcome.status === 'completed' ? words(resultFromTaskOutcome(outcome)) : '' });
});
