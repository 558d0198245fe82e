/* What a made-up core answers about the collectors that get rows of its audit log. */
import type { ApiError, SinkDto } from "$lib/bindings";
import { missing, type Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";

type SinkCalls = Pick<Answers, "audit.sinks" | "audit.addSink" | "audit.removeSink" | "audit.resumeSink">;

export function sinkCalls(state: CoreState): SinkCalls {
  const found = (id: number): SinkDto => {
    const sink = state.sinks.find((one) => one.id === id);
    if (!sink) throw missing(`sink ${id}`);
    return sink;
  };
  /** It took every row. */
  const sent = (sink: SinkDto): SinkDto => ({
    ...sink,
    next: state.audit.last + 1,
    waiting: 0,
    taken: iso(state.now()),
    trouble: null,
    since: null,
    paused: false,
  });
  return {
    "audit.sinks": () => ({ sinks: state.sinks }),
    "audit.addSink": ({ url, headers = {}, first }) => {
      const whole = addressOf(url);
      const same = state.sinks.find((one) => one.url === whole);
      if (same)
        throw {
          code: "refused",
          message: `\`url\`: sink ${same.id} sends rows to this address already`,
          hint: "`taskwarden audit sinks list` shows how far rows came. Remove that sink first to begin with another row or with other headers.",
        } satisfies ApiError;
      check(headers);
      const id = Math.max(0, ...state.sinks.map((one) => one.id)) + 1;
      const added = sent({
        id,
        url: whole,
        headers: Object.keys(headers),
        next: first ?? state.audit.last + 1,
        waiting: 0,
        taken: null,
        trouble: null,
        since: null,
        paused: false,
        skipped: 0,
        rejected: 0,
        rejectedSince: null,
      });
      state.sinks = [...state.sinks, added];
      return added;
    },
    "audit.removeSink": ({ id }) => {
      found(id);
      state.sinks = state.sinks.filter((one) => one.id !== id);
      return { sinks: state.sinks };
    },
    "audit.resumeSink": ({ id, headers = {} }) => {
      const sink = found(id);
      check(headers);
      // A value that was refused is refused again.
      const isRefused = sink.paused && sink.headers.length > 0 && Object.keys(headers).length === 0;
      const tried = isRefused ? sink : sent(sink);
      state.sinks = state.sinks.map((one) => (one.id === id ? tried : one));
      return tried;
    },
  };
}

/** As the core reads an address: what was typed is never quoted. */
function addressOf(text: string): string {
  const refused = (why: string) =>
    ({
      code: "usage",
      message: `\`url\`: ${why}`,
      hint: "Give the whole address of the collector, such as `https://collector.example:4318`.",
    }) satisfies ApiError;
  if (!URL.canParse(text)) throw refused("it is not a URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw refused("it contains a user name or password");
  if (url.search !== "" || url.hash !== "") throw refused("it has a part behind `?` or `#`");
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw refused("it must begin with `https://` or `http://`");
  if (url.protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(url.hostname))
    throw refused(`\`${url.origin}\` is another machine, and \`http\` is not encrypted`);
  const path = url.pathname.replace(/\/+$/, "");
  return `${url.origin}${path.endsWith("/v1/logs") ? path : `${path}/v1/logs`}`;
}

function check(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const bad = (why: string) =>
      ({
        code: "usage",
        message: `\`headers\`: the header \`${name}\` ${why}`,
        hint: "Give each header once, with a name such as `Authorization` and a value on one line.",
      }) satisfies ApiError;
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw bad("has a name that HTTP does not allow");
    if (value.trim() === "") throw bad("has no value");
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw bad("has a value that HTTP does not allow");
  }
}
