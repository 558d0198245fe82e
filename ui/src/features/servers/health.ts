/* How a server's health looks in one line: tone, word, icon, and the smaller line below. Pure; times come as values. */
import type { HealthDto, ServerDto } from "$lib/bindings";
import type { IconName } from "$lib/design/text/icons";
import type { Tone } from "$lib/design/tones";
import { shownHost } from "$lib/consent/host";
import { clockTime, duration, until } from "$lib/format/time";
import { standing } from "$lib/server/standing";
import { serversText as text } from "$lib/text/servers";

export interface HealthStatus {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
  readonly small: string;
}

export function healthStatus(server: ServerDto, now: number): HealthStatus {
  const how = standing(server);
  switch (how) {
    case "notAgreed":
      return { tone: "attention", icon: "lock", word: text.health.notAgreed, small: text.health.allow };
    case "frozen":
      return { tone: "attention", icon: "pause", word: text.health.frozen, small: since(server.frozen?.since, now) };
    case "up":
      return { tone: "success", icon: "check", word: text.health.up, small: newsWord(server) };
    case "connecting":
      return { tone: "running", icon: "ring", word: text.health.connecting, small: "" };
    case "blocked":
      return {
        tone: "attention",
        icon: "key",
        word: text.health.blocked,
        small: server.signIn?.state === "waiting" ? text.health.signingIn : since(server.health.since, now),
      };
    case "unknown":
    case "ended":
      return { tone: "neutral", icon: "bar", word: text.health[how], small: since(server.health.since, now) };
    case "down":
      return { tone: "danger", icon: "cross", word: text.health.down, small: retry(server.health, now) };
    default:
      return how satisfies never;
  }
}

function newsWord(server: ServerDto): string {
  if (server.dialect === "none") return text.health.kept;
  return server.pushes ? text.health.pushes : text.health.asked;
}

function since(moment: string | null | undefined, now: number): string {
  return moment == null ? "" : text.health.since(clockTime(moment, now));
}

function retry(health: HealthDto, now: number): string {
  return health.retryAt === null ? since(health.since, now) : text.health.retry(until(health.retryAt, now));
}

/** Where it is, in one word. */
export function whereabouts(server: ServerDto): string {
  if (server.address.kind === "stdio") return text.here;
  const host = shownHost(server.address.url);
  return host === null ? server.address.url : host.isHere ? `${text.here}, ${host.host}` : host.host;
}

export function eraWord(server: ServerDto): string {
  if (server.dialect === null) return text.notConnectedYet;
  return server.dialect === "none" ? text.noTasks : server.dialect;
}

/** How long cancels took: tenths below ten seconds, because there they differ. */
export function took(lengthMs: number): string {
  return lengthMs < 9_950 ? `${(lengthMs / 1_000).toFixed(1)} s` : duration(lengthMs);
}

/** Tabs of an opened server. */
export type ServerTab = "log" | "tools" | "health" | "access";

/** What a person most likely wants of it first: to allow it, to see why it fails, or what it does. */
export function openingTab(server: ServerDto): ServerTab {
  if (!server.agreed) return "access";
  return server.address.kind === "stdio" ? "log" : "health";
}

/** The server's name for itself, where it gives one, with what starts it; a blank name falls back to ours. */
export function whoItIs(server: ServerDto): string {
  const own = server.serverName?.trim() ?? "";
  const version = server.serverVersion?.trim() ?? "";
  const name = own === "" ? server.name : version === "" ? own : `${own} ${version}`;
  if (server.address.kind === "stdio") return text.startedHere(name);
  const place = whereabouts(server);
  return shownHost(server.address.url)?.isHere ? text.runsHere(name, place) : text.runsAt(name, place);
}
