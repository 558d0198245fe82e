/* What a made-up core answers about a server that runs: its log, its reply times, and who ends it. */
import type { DiffLine, RequestTimesDto, ServerDto, ServerLogEvent, ServerLogLine, SpanTimes } from "$lib/bindings";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";

type ServerCalls = Pick<
  Answers,
  | "servers.log"
  | "servers.times"
  | "servers.running"
  | "servers.restart"
  | "servers.end"
  | "servers.change"
  | "servers.toolDiff"
  | "servers.toolsSeen"
>;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const STEP_MS = 10 * MINUTE_MS;
const LINES = 1_204;
const STEPS = 36;

const SAID = [
  "list_papers: 214 rows, 36 ms",
  "index_folder: start, 6,900 files",
  "embed: batch 9 of 57, 32 pages",
  "fetch: papers/2026/0417.pdf: read timeout after 10 s, retrying",
  "hash_tree: 88 %, 17,600 files",
  "http: pool timeout set to 30 s",
];

const line = (kind: DiffLine["kind"], text: string): DiffLine => ({ kind, text });
const DIFF: DiffLine[] = [
  line("same", "{"),
  line("removed", '  "description": "Index the text files of one folder",'),
  line("added", '  "description": "Index a folder and everything it links to",'),
  line("skipped", "4"),
  line("same", '      "max_files": {'),
  line("removed", '        "maximum": 1000'),
  line("added", '        "maximum": 100000'),
  line("same", "      },"),
  line("added", '      "follow_links": { "type": "boolean", "default": true }'),
];

const MESSAGES: readonly [ServerLogEvent, ...ServerLogEvent[]] = [
  { kind: "message", level: "info", logger: "scheduler", text: "Picked up 3 jobs" },
  { kind: "message", level: "warning", logger: null, text: "The cache is 92 % full" },
  { kind: "message", level: "error", logger: "db", text: "Query failed after 3 attempts: connection reset" },
  { kind: "message", level: null, logger: null, text: '{"phase":"warm-up","took":4.2}' },
];

/** A log of so many lines, the last one nine seconds old. */
export function makeLog(count: number, now: number, said: readonly string[] = SAID): ServerLogLine[] {
  return Array.from({ length: count }, (_, at) => {
    const number = at + 1;
    const base = { number, at: iso(now - (count - at) * 9 * SECOND_MS), agent: null };
    if (at === 0) return { ...base, event: { kind: "started", pid: 48_211 } };
    if (number === count - 8) return { ...base, event: { kind: "asked", by: "mara", act: "restart" } };
    if (at % 9 === 4) return { ...base, event: MESSAGES[Math.floor(at / 9) % MESSAGES.length] ?? MESSAGES[0] };
    return { ...base, event: { kind: "line", text: said[at % said.length] ?? "" } };
  });
}

function times(at: number, scale: number): RequestTimesDto {
  const wave = 30 + ((at * 7) % 11);
  const peak = at > 20 && at < 25 ? 4 : 1;
  return { count: 24 * scale, failed: at % 12 === 5 ? 1 : 0, medianMs: wave, p95Ms: wave * 4 * peak };
}

const NO_TIMES: RequestTimesDto = { count: 0, failed: 0, medianMs: null, p95Ms: null };

export function serverCalls(state: CoreState, server: (name: string) => ServerDto): ServerCalls {
  const lines = makeLog(LINES, state.now());
  /** Whose open tasks it has. */
  const callers = (name: string) => {
    const open = [...state.rows.values()].filter((row) => row.server === name && !row.over);
    return [...new Set(open.map((row) => row.agent))].map((agent) => {
      const openTasks = open.filter((row) => row.agent === agent).length;
      return { agent, openTasks, calls: Math.min(1, openTasks) };
    });
  };
  const acted = (name: string) => ({ name, processes: [48_211], openTasks: server(name).figures.open });
  return {
    "servers.toolDiff": ({ tool }) => ({
      name: tool,
      change: "changed",
      lines: DIFF,
      added: 3,
      removed: 2,
      isTooLong: false,
    }),
    "servers.toolsSeen": () => ({}),
    "servers.log": ({ name, after }) => {
      const isLocal = server(name).address.kind === "stdio";
      const all = isLocal ? lines : [{ ...(lines[0] as ServerLogLine), event: { kind: "connected" as const } }];
      return {
        lines: after === undefined ? all.slice(-1_000) : all.filter((line) => line.number > after),
        first: 1,
        next: all.length + 1,
        keptBytes: 256 * 1_024,
      };
    },
    "servers.times": ({ name }) => {
      const { health } = server(name);
      const begun = health.kind === "up" || health.since === null ? state.now() : Date.parse(health.since);
      const steps = Array.from({ length: STEPS }, (_, at): SpanTimes => ({
        from: iso(state.now() - (STEPS - at) * STEP_MS),
        // Who cannot be reached is asked nothing.
        calls: state.now() - (STEPS - at) * STEP_MS < begun ? times(at, 1) : NO_TIMES,
        polls: state.now() - (STEPS - at) * STEP_MS < begun ? times(at + 3, 9) : NO_TIMES,
      }));
      // The last hour and the day are sums of the steps; none was measured before the first.
      const sum = (of: readonly RequestTimesDto[]): RequestTimesDto => ({
        count: of.reduce((all, one) => all + one.count, 0),
        failed: of.reduce((all, one) => all + one.failed, 0),
        medianMs: of[Math.floor(of.length / 2)]?.medianMs ?? null,
        p95Ms: of.some((one) => one.p95Ms !== null) ? Math.max(...of.map((one) => one.p95Ms ?? 0)) : null,
      });
      const span = (from: number, of: readonly SpanTimes[]): SpanTimes => ({
        from: iso(from),
        calls: sum(of.map((one) => one.calls)),
        polls: sum(of.map((one) => one.polls)),
      });
      return {
        since: iso(state.now() - 6 * 60 * MINUTE_MS),
        hour: span(state.now() - 60 * MINUTE_MS, steps.slice(-6)),
        day: span(state.now() - 24 * 60 * MINUTE_MS, steps),
        steps,
        lastFailure: { at: iso(begun - 3 * MINUTE_MS), request: "call", why: "read timeout after 10 s" },
      };
    },
    "servers.running": ({ name }) => {
      const { figures, address } = server(name);
      return {
        processes:
          address.kind === "http"
            ? []
            : [
                {
                  pid: 48_211,
                  agent: null,
                  since: iso(state.now() - 60 * MINUTE_MS),
                  group: [
                    { pid: 48_211, name: "npx" },
                    { pid: 48_219, name: "node" },
                  ],
                },
              ],
        openTasks: figures.open,
        agents: callers(name),
      };
    },
    "servers.restart": ({ name }) => acted(name),
    "servers.end": ({ name }) => acted(name),
    "servers.change": ({ name, address }) => {
      const changed = { ...server(name), address };
      state.servers.set(name, changed);
      state.send({ servers: [changed] });
      return changed;
    },
  };
}
