/* The lines of a server's log that are in the page: pages put together, and what is found in them. Pure. */
import type { ServerLogDto, ServerLogLine } from "$lib/bindings";
import { exact, hourMinuteSecond } from "$lib/format/time";
import { serversText } from "$lib/text/servers";

/** Lines kept in the page; as many as the core keeps. */
export const LINES_MAX = 4_000;

export interface LogLines {
  readonly lines: readonly ServerLogLine[];
  /** Number of the oldest line that the core keeps. */
  readonly first: number;
  /** Number that the next line gets. */
  readonly next: number;
}

export const NO_LINES: LogLines = { lines: [], first: 1, next: 1 };

/** The lines with one page more. A core that was started anew counts from the beginning: its page replaces all. */
export function withPage(known: LogLines, page: ServerLogDto): LogLines {
  const isNewRun = page.next < known.next;
  if (!isNewRun && page.lines.length === 0 && page.first === known.first) return known;
  const newest = known.lines.at(-1)?.number ?? 0;
  const kept = isNewRun ? [] : known.lines.filter((line) => line.number >= page.first);
  const lines = [...kept, ...(isNewRun ? page.lines : page.lines.filter((line) => line.number > newest))];
  return { lines: lines.slice(-LINES_MAX), first: page.first, next: page.next };
}

/** The lines with those that lie before them. */
export function withEarlier(known: LogLines, earlier: readonly ServerLogLine[]): LogLines {
  const oldest = known.lines[0]?.number ?? known.next;
  const before = earlier.filter((line) => line.number < oldest);
  return before.length === 0 ? known : { ...known, lines: [...before, ...known.lines].slice(-LINES_MAX) };
}

/** The words of a line: the server's, or ours. */
export function lineText(line: ServerLogLine): string {
  const { event } = line;
  if (event.kind === "line") return event.text;
  if (event.kind !== "message") return eventText(line);
  return `${serversText.log.levels[event.level ?? "unknown"]} ${loggerOf(line)}${event.text}`;
}

type Level = Extract<ServerLogLine["event"], { kind: "message" }>["level"];

/** What the server says itself; empty for a line of ours. */
export const said = ({ event }: ServerLogLine): string =>
  event.kind === "line" || event.kind === "message" ? event.text : "";

/** Which part of the server sent a log message, with a colon and a blank; empty where it does not say. */
export const loggerOf = ({ event }: ServerLogLine): string =>
  event.kind === "message" && event.logger !== null ? `${event.logger}: ` : "";

/** The tone of a level; the word is always there, too. */
export function toneOf(level: Level): "danger" | "attention" | "plain" {
  switch (level) {
    case "emergency":
    case "alert":
    case "critical":
    case "error":
      return "danger";
    case "warning":
      return "attention";
    case "notice":
    case "info":
    case "debug":
    case null:
      return "plain";
    default:
      return level satisfies never;
  }
}

/** What we say ourselves about a process. */
export function eventText({ event, agent }: ServerLogLine): string {
  const words = serversText.log.events;
  const text = ((): string => {
    switch (event.kind) {
      case "line":
      case "message":
        return event.text;
      case "skipped":
        return words.skipped(event.count);
      case "started":
        return words.started(event.pid);
      case "resumed":
        return words.resumed(event.pid);
      case "ended":
        return event.byUs
          ? words.endedByUs
          : event.code !== null
            ? words.endedWithCode(event.code)
            : event.signal !== null
              ? words.endedBySignal(event.signal)
              : words.ended;
      case "connected":
        return words.connected;
      case "disconnected":
        return words.disconnected;
      case "asked":
        return words.asked[event.act](event.by);
      case "questionRefused":
        return words.questionRefused;
      default:
        return event satisfies never;
    }
  })();
  return agent === null ? text : words.ofAgent(text, agent);
}

/** Places in `lines` of those that contain what is typed, oldest first. */
export function found(lines: readonly ServerLogLine[], typed: string): readonly number[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return [];
  return lines.flatMap((line, at) => (lineText(line).toLowerCase().includes(wanted) ? [at] : []));
}

export interface Piece {
  readonly text: string;
  readonly hit: boolean;
}

/** A line in pieces, so that what was found can be marked. */
export function pieces(text: string, typed: string): readonly Piece[] {
  const wanted = typed.trim().toLowerCase();
  const lower = text.toLowerCase();
  // Some letters change their length in lower case; then nothing is marked rather than the wrong letters.
  if (wanted === "" || lower.length !== text.length) return [{ text, hit: false }];
  const cut: Piece[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    if (at > from) cut.push({ text: text.slice(from, at), hit: false });
    from = at + wanted.length;
    cut.push({ text: text.slice(at, from), hit: true });
  }
  if (from < text.length) cut.push({ text: text.slice(from), hit: false });
  return cut;
}

/** The agent whose own process wrote a line, in front of that line. In one text: a space at the end of an element is
    not drawn. */
export const beforeLine = (agent: string): string => `${agent} · `;

/** Lines as text for the clipboard; ours stand in brackets. */
export function asText(lines: readonly ServerLogLine[]): string {
  return lines
    .map((line) => {
      const at = line.at === null ? "" : `${exact(line.at)} `;
      if (line.event.kind !== "line" && line.event.kind !== "message") return `${at}[${eventText(line)}]`;
      return `${at}${line.agent === null ? "" : beforeLine(line.agent)}${lineText(line)}`;
    })
    .join("\n");
}

export const lineTime = (line: ServerLogLine): string => (line.at === null ? "" : hourMinuteSecond(line.at));
