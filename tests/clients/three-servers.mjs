// One client on the endpoint of all servers: lists their tools and calls one of each kind, by the TypeScript SDK 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { main, tell, token, url, words } from './story.mjs';

await main(async () => {
  const client = new Client({ name: 'three-servers', version: '1' }, { capabilities: {} });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  const names = [];
  let cursor;
  do {
    const page = await client.listTools(cursor ? { cursor } : {});
    names.push(...page.tools.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor);
  tell('tools', { names });
  const kept = { type: 'solution', title: 'bees', content: 'bees dance' };
  await client.callTool({ name: 'memory__store_memory', arguments: kept });
  const found = await client.callTool({ name: 'memory__recall_memories', arguments: { query: 'bees' } });
  tell('plain', { text: words(found) });
  const params = { name: 'everything__simulate-research-query', arguments: { topic: 'ants' } };
  for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: {} })) {
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') tell('task', { text: words(message.result) });
  }
  const failing = await client.callTool({ name: 'demo__tool_error', arguments: {} });
  tell('done', { isError: failing.isError === true, text: words(failing) });
});
