// The official TypeScript SDK 1.x: 2025-11-25 with its experimental tasks, over HTTP or over `taskwarden connect`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { CALLS, command, main, pause, story, tell, token, told, url, words } from './story.mjs';

function transport() {
  if (command) return new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env, stderr: 'inherit' });
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${token}` } } });
}

async function connect() {
  const client = new Client({ name: 'ts-sdk-1', version: '1' }, { capabilities: {} });
  for (let attempt = 0; ; attempt++) {
    try {
      await client.connect(transport());
      return client;
    } catch (error) {
      if (attempt > 400) throw error;
      await pause(200);
    }
  }
}

/** Follows a task by looking; a gateway that is away for a moment is connected to again. */
async function follow(client, taskId) {
  for (let away = 0; ; ) {
    try {
      const task = await client.experimental.tasks.getTask(taskId);
      if (['completed', 'failed', 'cancelled'].includes(task.status)) return [client, task];
      await pause(task.pollInterval ?? 300);
    } catch (error) {
      if (++away > 400) throw error;
      tell('away', { message: String(error?.message ?? error) });
      await pause(200);
      if (!command) client = await connect();
    }
  }
}

await main(async () => {
  let client = await connect();
  tell('connected', { server: client.getServerVersion()?.name });
  const [name, input] = CALLS[story];
  let created;
  for await (const message of client.experimental.tasks.callToolStream({ name, arguments: input }, CallToolResultSchema, { task: {} })) {
    if (message.type === 'taskCreated') {
      created = message.task;
      break;
    }
    if (message.type === 'error') throw message.error;
    if (message.type === 'result') return tell('done', { status: 'completed', text: words(message.result) });
  }
  tell('started', { kind: 'task', task: created.taskId });
  if (story === 'cancel') {
    await told();
    const task = await client.experimental.tasks.cancelTask(created.taskId);
    return tell('done', { status: task.status, text: '' });
  }
  let task;
  [client, task] = await follow(client, created.taskId);
  const result = await client.experimental.tasks.getTaskResult(created.taskId, CallToolResultSchema);
  tell('done', { status: task.status, text: words(result) });
});
