/* Rows of a made-up audit log. A row is made when it is read, so that a log of 100,000 costs nothing. */
import type { AuditRowDto, AuditVerb } from "$lib/bindings";
import { chance, iso } from "../random";

/** A log that is read by number. */
export interface AuditLog {
  /** The first row that is still there; 0 without rows. */
  readonly first: number;
  readonly last: number;
  get(number: number): AuditRowDto | undefined;
}

interface Act {
  readonly actor: string;
  readonly who: string;
  readonly verb: AuditVerb | "teleported";
  readonly subject: "task" | "request" | "server" | "agent" | "store";
  readonly note: string;
  readonly detail?: Record<string, string>;
}

const WINDOW = { door: "window", process: "4711@98213", executable: "/usr/bin/taskwarden" };
const TERMINAL = { door: "terminal", process: "5120@99107", executable: "/usr/bin/taskwarden" };
const mara = { actor: "person:mara", who: "Mara Lindqvist" };
const dana = { actor: "person:dana", who: "Dana Okafor" };
const agent = (name: string) => ({ actor: `agent:agt_${name}`, who: name });
const system = (part: string) => ({ actor: `system:${part}`, who: "Taskwarden" });
const SERVERS = [
  { id: "srv_000000", name: "ci-server" },
  { id: "srv_000001", name: "warehouse" },
  { id: "srv_000002", name: "docs" },
] as const;
const AGENTS = ["claude-code", "research-7", "order-bot"] as const;

/** A day in the order of its rows; it repeats. A server acts where the actor is `server:`. */
const DAY: readonly Act[] = [
  { ...agent("claude-code"), verb: "admitted", subject: "task", note: "" },
  { actor: "server:", who: "", verb: "accepted", subject: "task", note: "" },
  { actor: "server:", who: "", verb: "asked", subject: "request", note: "form" },
  { ...mara, verb: "answerBegun", subject: "request", note: "accept", detail: WINDOW },
  { actor: "server:", who: "", verb: "answerEnded", subject: "request", note: "acknowledged" },
  { actor: "server:", who: "", verb: "ended", subject: "task", note: "working -> completed" },
  { ...system("gateway"), verb: "given", subject: "task", note: "" },
  { ...agent("order-bot"), verb: "admitted", subject: "task", note: "" },
  { actor: "server:", who: "", verb: "accepted", subject: "task", note: "" },
  { ...dana, verb: "stopBegun", subject: "task", note: "wrong month", detail: TERMINAL },
  { actor: "server:", who: "", verb: "stopEnded", subject: "task", note: "acknowledged" },
  { ...dana, verb: "ruleChanged", subject: "store", note: "long-jobs: warn after 55 min", detail: WINDOW },
  { ...agent("research-7"), verb: "admitted", subject: "task", note: "" },
  { actor: "server:", who: "", verb: "accepted", subject: "task", note: "" },
  {
    ...system("budget"),
    verb: "resultHeld",
    subject: "task",
    note: "about 61,204 tokens for Claude, the limit is 20,000",
  },
  { ...mara, verb: "resultReleased", subject: "task", note: "in slices", detail: WINDOW },
  { actor: "control:ctl_supervisor", who: "night-supervisor", verb: "halted", subject: "store", note: "all calls" },
  { ...mara, verb: "resumed", subject: "store", note: "calls", detail: WINDOW },
  { ...system("retention"), verb: "storageCleaned", subject: "store", note: "14 tasks" },
  { ...dana, verb: "agentTokenReplaced", subject: "agent", note: "", detail: TERMINAL },
  { ...mara, verb: "serverChanged", subject: "server", note: "address", detail: WINDOW },
  { actor: "server:", who: "", verb: "lost", subject: "task", note: "its time on the server ran out" },
  { actor: "server:", who: "", verb: "teleported", subject: "task", note: "of a newer version" },
  { ...system("call"), verb: "unconfirmed", subject: "task", note: "the reply can no longer arrive" },
];

/** Between two rows. */
const STEP_MS = 97_318;
/** Of a log, this part was written in layout 1. */
const OLD_PART = 0.2;
/** Each row with such a number has had its note erased. */
const ERASED_EACH = 41;

/** Looks like a hash; the same for the same number. */
export function hashOf(number: number): string {
  const roll = chance(number + 1);
  return Array.from({ length: 8 }, () =>
    Math.floor(roll() * 2 ** 32)
      .toString(16)
      .padStart(8, "0"),
  ).join("");
}

export function aRow(number: number, last: number, now: number, change: Partial<AuditRowDto> = {}): AuditRowDto {
  const at = (number - 1) % DAY.length;
  const act = DAY[at] ?? DAY[0];
  if (!act) throw new Error("the day has rows");
  // Some rows one after the other are about the same task.
  const task = Math.floor((number - 1) / 7);
  const server = SERVERS[task % SERVERS.length] ?? SERVERS[0];
  const name = AGENTS[task % AGENTS.length] ?? AGENTS[0];
  const handle = `hdl_${hashOf(task).slice(0, 26)}`;
  const subject = {
    task: `handle:${handle}`,
    request: `request:${handle}:ask:${String(at)}`,
    server: `server:${server.id}`,
    agent: `agent:agt_${name}`,
    store: "store",
  }[act.subject];
  const isServer = act.actor === "server:";
  const isOld = number <= last * OLD_PART;
  const isErased = number % ERASED_EACH === 0;
  const isOfTask = act.subject === "task" || act.subject === "request";
  return {
    number,
    at: iso(now - 34_000 - (last - number) * STEP_MS),
    actor: isServer ? `server:${server.id}` : act.actor,
    who: isServer ? server.name : act.who,
    verb: act.verb,
    subject,
    server: !isOld && (isOfTask || act.subject === "server") ? server.name : null,
    agent: !isOld && (isOfTask || act.subject === "agent") ? name : null,
    note: isErased && !isOld ? null : act.note,
    detail: isErased && !isOld ? {} : (act.detail ?? {}),
    layout: isOld ? 1 : 2,
    hash: hashOf(number),
    fits: true,
    ...change,
  };
}

/** A log of so many rows. */
export function makeAudit(count: number, now: number): AuditLog {
  return {
    first: count === 0 ? 0 : 1,
    last: count,
    get: (number) => (number >= 1 && number <= count ? aRow(number, count, now) : undefined),
  };
}

/** A log of exactly these rows. */
export function auditOf(rows: readonly AuditRowDto[]): AuditLog {
  const known = new Map(rows.map((row) => [row.number, row]));
  const numbers = [...known.keys()];
  return {
    first: numbers.length === 0 ? 0 : Math.min(...numbers),
    last: numbers.length === 0 ? 0 : Math.max(...numbers),
    get: (number) => known.get(number),
  };
}
