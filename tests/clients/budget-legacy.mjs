// A day of an agent of 2025-11-25 that knows no tasks, on the door of one server: the official TypeScript SDK 1.x. It has
// the four task tools: it reads a result that is too large in parts, waits for a call that goes on, lists and stops it.
// It keeps its own transcript.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { main, tell, token, url, words } from './story.mjs';
import { recorded, written } from './transcript.mjs';

await main(async () => {
  const client = new Client({ name: 'budget-legacy', version: '1' }, { capabilities: {} });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit, fetch: recorded }));
  const call = (name, input) => client.callTool({ name, arguments: input });

  const { tools } = await client.listTools();
  const failing = await call('tool_error', {});
  const flaky = await call('flaky', {}).then(words, (error) => String(error));

  const short = await call('huge_report', { tokens: 12_000, path: process.env.CLIENT_FOLDER });
  const handle = words(short).match(/hdl_[0-9a-z]+/)[0];
  const parts = [];
  for (let offset = 0; offset !== null; ) {
    const text = words(await call('tasks_result', { task: handle, offset }));
    const [, next] = text.match(/\[\d+ of \d+ characters; continue with offset (\d+)\]$/) ?? [];
    parts.push(text.replace(/\n\[\d+ of \d+ characters; continue with offset \d+\]$/, ''));
    offset = next === undefined ? null : Number(next);
  }

  const note = await call('runaway', {});
  const away = words(note).match(/hdl_[0-9a-z]+/)[0];
  const waited = await call('tasks_wait', { task: away, seconds: 1 });
  const listed = await call('tasks_list', {});
  const early = await call('tasks_result', { task: away });
  const stopped = await call('tasks_cancel', { task: away });
  const ended = await call('tasks_wait', { task: away, seconds: 15 }).then(words, (error) => String(error));
  await written();
  tell('done', {
    tools: tools.map((tool) => tool.name), failing: failing.isError, flaky, short: words(short), parts: parts.length, report: parts.join(''),
    waited: words(waited), listed: words(listed), early: words(early), stopped: words(stopped), ended,
  });
});
