// The server behind the gateway: a real MCP server of the TypeScript SDK whose tools last as long as a scenario wants.
//
// It knows no tasks: every long call is one that the gateway turns into a task for its agent. It counts how often each
// tool ran, because "called once" is what many scenarios promise. It can end like a crash and come back on its port.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/** Longer than any scenario lets a question stand. */
const QUESTION_LIMIT_MS = 600_000;
/** The lines of `report`, which text and structured content both have. */
const REPORTED = ['hives: 3', 'bees: 41000', 'honey: 12 kg'];

const text = (words) => ({ content: [{ type: 'text', text: words }] });
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

export class Lab {
  #http;
  #port = 0;
  #sessions = new Map();
  #hasGrown = false;
  /** Adds `harvest` to the server of one session. */
  #growers = new Set();
  /** How often each tool was called. */
  runs = {};

  get url() {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async start() {
    this.#http = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
    await new Promise((resolve) => this.#http.listen(this.#port, '127.0.0.1', resolve));
    this.#port = this.#http.address().port;
    return this;
  }

  /** Ends at once, with every stream cut. */
  async end() {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
    this.#sessions.clear();
  }

  async #take(request, response) {
    const known = this.#sessions.get(request.headers['mcp-session-id']);
    if (known) return known.handleRequest(request, response);
    if (request.headers['mcp-session-id']) return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => this.#sessions.set(id, transport),
    });
    await this.#server(transport).connect(transport);
    await transport.handleRequest(request, response);
  }

  #server(transport) {
    const server = new McpServer({ name: 'lab', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
    const tool = (name, description, inputSchema, run, more = {}) =>
      server.registerTool(name, { description, inputSchema, ...more }, async (args, extra) => {
        this.runs[name] = (this.runs[name] ?? 0) + 1;
        return run(args, extra);
      });
    const later = () => tool('harvest', 'Harvests the honey.', {}, () => text('harvested 12 kg'));
    tool('sum', 'Adds two numbers.', { a: z.number(), b: z.number() }, ({ a, b }) => text(`the sum is ${a + b}`));
    tool('fail', 'Looks for a bee that is not there.', {}, () => ({ ...text('there is no such bee'), isError: true }));
    const shape = { lines: z.array(z.string()) };
    tool('report', 'Reports on the hives.', {}, () => ({ ...text(REPORTED.join('\n')), structuredContent: { lines: REPORTED } }), {
      outputSchema: shape,
    });
    tool('work', 'Works for a while.', { seconds: z.number(), name: z.string().optional() }, async ({ seconds, name }) => {
      await sleep(seconds);
      return text(`worked for ${seconds} s${name ? ` as ${name}` : ''}`);
    });
    tool('survey', 'Counts the bees, which takes a while.', { seconds: z.number() }, async ({ seconds }) => {
      await sleep(seconds);
      return { ...text('counted 41000 bees'), structuredContent: { lines: ['counted 41000 bees'] } };
    }, { outputSchema: shape });
    tool('diary', 'Reads the whole diary.', { days: z.number() }, ({ days }) => text(diary(days)));
    tool('ask', 'Asks the bee keeper for a name.', {}, async (_args, extra) => {
      const question = {
        method: 'elicitation/create',
        params: {
          message: 'What is the name of the queen?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
        },
      };
      const answer = await extra.sendRequest(question, ElicitResultSchema, { timeout: QUESTION_LIMIT_MS });
      return text(`${answer.action}: ${answer.content?.name ?? 'nobody'}`);
    });
    tool('grow', 'Adds the tool harvest.', {}, () => {
      this.#hasGrown = true;
      for (const grow of this.#growers) grow();
      this.#growers.clear();
      return text('there is a new tool: harvest');
    });
    if (this.#hasGrown) later();
    else this.#growers.add(later);
    transport.onclose = () => this.#sessions.delete(transport.sessionId);
    return server;
  }
}

/** A long text in which every line is another, about 12 tokens a day. */
export function diary(days) {
  const lines = Array.from({ length: days }, (_, day) => `day ${day}: ${(day * 7_919) % 1_000} bees flew, ${(day * 31) % 97} came home late.`);
  return `${lines.join('\n')}\nthe end of the diary`;
}
