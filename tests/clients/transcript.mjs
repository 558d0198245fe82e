// A transcript that a client keeps of itself: every message that it sent and received, as it was on the wire.
// One JSON object a line: `{"way": "sent" | "received", "text": …}`; `text` is the message itself, unread.
import { appendFileSync } from 'node:fs';

const path = process.env.CLIENT_TRANSCRIPT;
const open = new Set();

function keep(way, text) {
  appendFileSync(path, `${JSON.stringify({ way, text })}\n`);
}

/** The messages of a body: one, or one an event. */
function messages(kind, body) {
  if (!kind?.startsWith('text/event-stream')) return body.trim() === '' ? [] : [body];
  return body.split(/\r?\n\r?\n/).map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim()).join('\n')).filter((text) => text !== '');
}

/** `fetch` that writes down what goes out and what comes in. */
export async function recorded(url, init = {}) {
  if (typeof init.body === 'string') keep('sent', init.body);
  const response = await fetch(url, init);
  // The stream of a session's own never ends; nothing on it answers a request.
  if ((init.method ?? 'GET') !== 'POST') return response;
  const kind = response.headers.get('content-type');
  const reading = response.clone().text().then((body) => messages(kind, body).forEach((text) => keep('received', text)));
  open.add(reading);
  reading.catch(() => keep('received', 'null')).finally(() => open.delete(reading));
  return response;
}

/** Everything that was answered stands in the transcript when this returns. */
export async function written() {
  while (open.size > 0) await Promise.all(open);
}
