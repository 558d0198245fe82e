// What the stories of all Node clients share: what to do, where, and telling it one JSON object a line.
// `node CLIENT.mjs result|question|cancel|restart`, with CLIENT_URL and CLIENT_TOKEN, or CLIENT_COMMAND as a JSON array.
import { createInterface } from 'node:readline';

export const story = process.argv[2];
export const url = process.env.CLIENT_URL;
export const token = process.env.CLIENT_TOKEN;
export const command = process.env.CLIENT_COMMAND ? JSON.parse(process.env.CLIENT_COMMAND) : null;

/** The call of each story, on the server `rmcp-peer`. */
export const CALLS = {
  result: ['slow_sum', { a: 40, b: 2, millis: 400 }],
  question: ['ask_name', {}],
  cancel: ['forever', {}],
  restart: ['slow_sum', { a: 40, b: 2, millis: 8_000 }],
};

export function tell(event, more = {}) {
  console.log(JSON.stringify({ event, ...more }));
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
/** Waits for whoever tells the story. */
export const told = () => lines.next();

export const words = (result) => (result?.content ?? []).map((part) => part.text ?? '').join(' ');
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Runs a story to its end; an error is told and ends the program. */
export async function main(run) {
  try {
    await run();
    process.exit(0);
  } catch (error) {
    tell('failed', { message: String(error?.stack ?? error) });
    process.exit(1);
  }
}
