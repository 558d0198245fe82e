/* What a check of an agent's connection found, as rows: good, or what is wrong and what to do. Pure. */
import type { ConnectionCheck } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { ago, duration } from "$lib/format/time";
import { agentDetailText } from "$lib/text/agent/detail";

export interface Finding {
  readonly key: string;
  readonly icon: IconName;
  readonly tone: Tone;
  readonly title: string;
  readonly note: string | null;
  /** At the end of the row. */
  readonly figure: string | null;
}

const text = agentDetailText.check;
const GOOD = { icon: "check", tone: "success" } as const;
const BAD = { icon: "warn", tone: "attention" } as const;
const PLAIN = { icon: "info", tone: "neutral" } as const;
/** Names of servers in one row; the rest is counted. */
const NAMED = 4;

export function findings(check: ConnectionCheck, now: number): readonly Finding[] {
  return [token(check, now), http(check), command(check), servers(check), ...waits(check)];
}

function token({ seenAt, tokenUsed, seenThrough }: ConnectionCheck, now: number): Finding {
  const row = { key: "token", figure: null };
  if (seenAt === null) return { ...row, ...BAD, title: text.neverSeen, note: text.neverSeenWhy };
  if (!tokenUsed) return { ...row, ...BAD, title: text.tokenUnused, note: text.tokenUnusedWhy };
  const note = seenThrough === null ? text.beforeStart : text.through(seenThrough);
  return { ...row, ...GOOD, title: text.tokenUsed(ago(seenAt, now)), note };
}

function http({ http: tried, url, urlWhy }: ConnectionCheck): Finding {
  const row = { key: "http", figure: null };
  if (tried === null) {
    const why = urlWhy === null ? text.httpOffWhy : `${urlWhy}. ${text.httpOffWhy}`;
    return { ...row, ...PLAIN, title: text.httpOff, note: why };
  }
  if (tried.why !== null) return { ...row, ...BAD, title: text.httpFailed, note: text.httpFailedWhy(tried.why) };
  return { ...row, ...GOOD, title: text.http, note: url, figure: text.took(tried.tookMs) };
}

function command({ command: tried }: ConnectionCheck): Finding {
  const row = { key: "command", note: null, figure: null };
  return tried.why === null
    ? { ...row, ...GOOD, title: text.command, figure: text.took(tried.tookMs) }
    : { ...row, ...BAD, title: text.commandFailed, note: text.commandFailedWhy(tried.why) };
}

function servers({ servers: all, serversUp, serversDown }: ConnectionCheck): Finding {
  const row = { key: "servers", title: text.servers(serversUp, all), figure: null };
  if (all === 0) return { ...row, ...BAD, note: text.noServers };
  if (serversUp === all) return { ...row, ...GOOD, note: null };
  const named = serversDown.slice(0, NAMED).map(({ name, why }) => (why === null ? name : `${name}: ${why}`));
  const more = all - serversUp - named.length;
  return { ...row, ...BAD, note: [...named, ...(more > 0 ? [agentDetailText.sessions.more(more)] : [])].join(" · ") };
}

function waits({ waitsMs, waitsLearned }: ConnectionCheck): readonly Finding[] {
  if (waitsMs === null) return [];
  const note = waitsLearned ? text.waitsLearned : text.waitsKnown;
  return [{ key: "waits", ...GOOD, title: text.waits(duration(waitsMs)), note, figure: null }];
}
