// A scripted model on loopback: real programs ask it, and it does what its script and the words of results say.
//
// A script is a list of steps. `{ calls }` calls tools at once, `{ follows }` does what results suggest until they suggest
// nothing, `{ repeats }` makes a call again until its result says something, a function is awaited between two turns. It
// keeps every turn, so that a test can say what the model received.
// It never looks past the request: what a program hides from its model is hidden from it.
import { createServer } from 'node:http';
import { anthropic } from './anthropic.mjs';
import { gemini } from './gemini.mjs';
import { responses } from './responses.mjs';
import { suggestedCall } from './suggestion.mjs';

const APIS = [anthropic, responses, gemini];
/** What the model says last; a run that ended so went through its whole script. */
export const END = 'The script is done.';
/** Tools by which a program lets its model search for those that it left out of the request. */
const SEARCHES = ['ToolSearch', 'tool_search'];

/** A step that does what results suggest, `turns` times at most. */
export const follow = (turns = 40) => ({ follows: turns });
/** A step with one call. */
export const call = (name, args = {}) => ({ calls: [{ name, args }] });
/** A step with several calls in one turn. */
export const calls = (list) => ({ calls: list });

export class ScriptedModel {
  #http;
  #script;
  #step = 0;
  #followed = 0;
  #sent = new Map();
  #next = 1;
  #waiting = Promise.resolve();
  /** Every turn of the conversation: `{ tools, results, replied, at }`. */
  turns = [];
  /** Requests beside the conversation: titles, warm-ups, counts. */
  others = [];
  /** What went wrong in the script itself. */
  faults = [];

  constructor(script) {
    this.#script = script;
  }

  get url() {
    return `http://127.0.0.1:${this.#http.address().port}`;
  }

  /** Results of tool calls in the order in which the model received them. */
  get results() {
    return this.turns.flatMap((turn) => turn.results);
  }

  /** Whether the script was played to its end. */
  get isDone() {
    return this.turns.at(-1)?.replied.text === END;
  }

  async start() {
    this.#http = createServer((request, response) => this.#take(request, response));
    await new Promise((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
    return this;
  }

  async stop() {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  async #take(request, response) {
    const path = request.url;
    let text = '';
    for await (const chunk of request) text += chunk;
    const api = APIS.find((api) => api.owns(path));
    if (!api || request.method !== 'POST') {
      this.others.push(`${request.method} ${path}`);
      return json(response, request.method === 'HEAD' ? 200 : 404, {});
    }
    const body = JSON.parse(text);
    const asked = api.read(path, body);
    if (asked.kind === 'count') return json(response, 200, api.count());
    // One turn after the other: a script has one place where it stands.
    const turn = this.#waiting.then(() => this.#turn(asked, body)).catch((error) => {
      this.faults.push(String(error.stack ?? error));
      return { id: 'fault', text: END, calls: [] };
    });
    this.#waiting = turn;
    const written = api.write(await turn, asked);
    if (written.document) return json(response, 200, written.document);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const { name, data } of written.events) {
      response.write(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`);
    }
    response.end();
  }

  async #turn(asked, body) {
    const id = `turn_${this.#next++}`;
    const isOurs = asked.tools.some((tool) => /tasks_wait$|lab__|(^|_)sum$|ToolSearch$|tool_search$/.test(tool.name));
    if (!isOurs) {
      this.others.push(JSON.stringify(body).slice(0, 300));
      return { id, text: '{}', calls: [] };
    }
    const results = asked.results.map((result) => ({ ...result, of: this.#sent.get(result.id) ?? null }));
    const turn = { at: Date.now(), tools: asked.tools, results };
    this.turns.push(turn);
    turn.replied = await this.#reply(id, asked.tools, results);
    return turn.replied;
  }

  async #reply(id, tools, results) {
    const searched = results.find((result) => result.of?.searchesFor);
    if (searched) return this.#says(id, tools, searched.of.searchesFor, true);
    for (;;) {
      const step = this.#script[this.#step];
      if (step === undefined) return { id, text: END, calls: [] };
      if (typeof step === 'function') {
        this.#step += 1;
        await step(this);
        continue;
      }
      if (step.calls) {
        this.#step += 1;
        return this.#says(id, tools, step.calls);
      }
      if (step.repeats) {
        const isThere = results.some((result) => step.unless.test(result.text));
        if (!isThere && this.#followed < step.times) {
          this.#followed += 1;
          await new Promise((resolve) => setTimeout(resolve, step.everyMs ?? 0));
          return this.#says(id, tools, [step.repeats]);
        }
        this.#step += 1;
        this.#followed = 0;
        continue;
      }
      const suggested = results.map((result) => suggestedCall(result.text, result.of)).filter((call) => call !== null);
      if (suggested.length > 0 && this.#followed < step.follows) {
        this.#followed += 1;
        return this.#says(id, tools, suggested);
      }
      this.#step += 1;
      this.#followed = 0;
    }
  }

  /** A turn with these calls; where the program left a tool out, the search for it comes first. */
  #says(id, tools, wanted, hasSearched = false) {
    const found = wanted.map((call) => ({ call, tool: named(tools, call.name) }));
    const missing = found.filter(({ tool }) => !tool).map(({ call }) => call.name);
    const search = tools.find((tool) => SEARCHES.includes(tool.name));
    if (missing.length > 0 && search && !hasSearched) {
      const query = missing.map((name) => `mcp__taskwarden__${name}`).join(',');
      const callId = `call_${id}_search`;
      this.#sent.set(callId, { name: search.name, searchesFor: wanted });
      return { id, text: '', calls: [{ id: callId, name: search.name, args: { query: `select:${query}`, max_results: 8 } }] };
    }
    const made = found.map(({ call, tool }, nth) => {
      const callId = `call_${id}_${nth}`;
      this.#sent.set(callId, call);
      return { id: callId, name: tool?.name ?? `mcp__taskwarden__${call.name}`, namespace: tool?.namespace, args: call.args };
    });
    return { id, text: '', calls: made };
  }
}

/** The definition of a tool whatever a program puts before its name. */
function named(tools, name) {
  return tools.find((tool) => tool.name === name) ?? tools.find((tool) => new RegExp(`(^|_)${name}$`).test(tool.name));
}

function json(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
