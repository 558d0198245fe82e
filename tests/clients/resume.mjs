// The official TypeScript SDK 1.x over HTTP, whose core is killed under a call: `node resume.mjs TOOL JSON QUICK JSON`.
// It does nothing of its own about the loss: what comes back is what the SDK makes of it.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { main, tell, token, told, url, words } from './story.mjs';

const [, , tool, input, quick, quickInput] = process.argv;
const calls = { initialize: 0 };
const counted = (address, init) => {
  if (typeof init?.body === 'string' && init.body.includes('"initialize"')) calls.initialize++;
  return fetch(address, init);
};

await main(async () => {
  const client = new Client({ name: 'ts-sdk-1', version: '1' }, { capabilities: {} });
  client.onerror = (error) => console.error(String(error?.message ?? error));
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit, fetch: counted });
  await client.connect(transport);
  tell('connected', { session: transport.sessionId });
  const begun = Date.now();
  const result = await client.callTool({ name: tool, arguments: JSON.parse(input) });
  tell('done', { text: words(result), isError: result.isError ?? false, ms: Date.now() - begun });
  const next = await client.callTool({ name: quick, arguments: JSON.parse(quickInput) });
  tell('next', { text: words(next), initialized: calls.initialize });
  await told();
});
