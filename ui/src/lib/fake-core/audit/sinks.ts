/* What a made-up core answers about the collectors that get rows of its audit log. */
import type { ApiError, SignalDto, SinkDto, SinkSignalDto } from "$lib/bindings";
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
  /** It took everything. */
  const sent = (sink: SinkDto): SinkDto => ({
    ...sink,
    signals: sink.signals.map((signal) => ({
      ...signal,
      next: state.audit.last + 1,
      waiting: 0,
      taken: iso(state.now()),
      trouble: null,
      since: null,
      paused: false,
    })),
  });
  return {
    "audit.sinks": () => ({ sinks: state.sinks }),
    "audit.addSink": ({ url, signals = ["logs"], headers = {}, first }) => {
      const base = addressOf(url);
      const same = state.sinks.find(
        (one) => one.url === base && one.signals.some(({ signal }) => signals.includes(signal)),
      );
      if (same)
        throw {
          code: "refused",
          message: `\`url\`: sink ${same.id} sends ${signals[0] ?? ""} to this address already`,
          hint: "`taskwarden audit sinks list` shows how far it came. Remove that sink first to begin with another row or with other headers.",
        } satisfies ApiError;
      check(headers);
      const id = Math.max(0, ...state.sinks.map((one) => one.id)) + 1;
      const begun = signals.map((signal) => signalOf(signal, base, first ?? state.audit.last + 1));
      const added = sent({ id, url: base, headers: Object.keys(headers), signals: begun });
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
      const isPaused = sink.signals.some((signal) => signal.paused);
      const isRefused = isPaused && sink.headers.length > 0 && Object.keys(headers).length === 0;
      const tried = isRefused ? sink : sent(sink);
      state.sinks = state.sinks.map((one) => (one.id === id ? tried : one));
      return tried;
    },
  };
}

/** A signal of which nothing was sent yet. */
function signalOf(signal: SignalDto, base: string, next: number): SinkSignalDto {
  const well = { taken: null, trouble: null, since: null, rejectedSince: null };
  return { signal, url: `${base}/v1/${signal}`, next, waiting: 0, paused: false, skipped: 0, rejected: 0, ...well };
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
  const path = url.pathname.replace(/\/+$/, "").replace(/\/v1\/(logs|traces)$/, "");
  return `${url.origin}${path}`;
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
