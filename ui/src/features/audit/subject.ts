/* What a row is about: a name to show and, where the window has a page for it, its address. Pure. */
import type { AuditRowDto } from "$lib/bindings";
import type { Place } from "$lib/route";

export interface Subject {
  readonly kind: "task" | "question" | "server" | "agent" | "registry" | "other";
  /** The id or the name; of another kind, the subject as it is stored. */
  readonly label: string;
  /** The handle, where it is about a task or one of its questions. */
  readonly task: string | null;
  /** The key of the question. */
  readonly question: string | null;
  readonly link: { readonly place: Place; readonly id: string } | null;
}

/** Ids of servers with their names, as the feed has them. */
export type ServerNames = ReadonlyMap<string, string>;

const SHORT_ID = 10;

/** An id that can be told from its neighbours: `hdl_7kzmda…`. The whole one is in the detail. */
export function shortId(id: string): string {
  return id.length <= SHORT_ID + 1 ? id : `${id.slice(0, SHORT_ID)}…`;
}

export function subjectOf(row: Pick<AuditRowDto, "subject" | "server" | "agent">, servers: ServerNames): Subject {
  const { kind, id, rest } = split(row.subject);
  const none = { task: null, question: null, link: null };
  switch (kind) {
    case "handle":
      return { kind: "task", label: id, task: id, question: null, link: { place: "tasks", id } };
    case "request":
      return { kind: "question", label: id, task: id, question: rest, link: { place: "tasks", id } };
    case "agent":
      return { ...none, kind: "agent", label: row.agent ?? id, link: { place: "agents", id } };
    case "server": {
      const name = servers.get(id);
      return {
        ...none,
        kind: "server",
        label: row.server ?? name ?? id,
        link: name === undefined ? null : { place: "servers", id: name },
      };
    }
    default:
      return { ...none, kind: row.subject === "store" ? "registry" : "other", label: row.subject };
  }
}

/** `request:ID:KEY`; the key of a question may have colons of its own. */
function split(subject: string): { kind: string; id: string; rest: string | null } {
  const at = subject.indexOf(":");
  if (at < 0) return { kind: "", id: "", rest: null };
  const [kind, whole] = [subject.slice(0, at), subject.slice(at + 1)];
  if (whole === "") return { kind: "", id: "", rest: null };
  if (kind !== "request") return { kind, id: whole, rest: null };
  const end = whole.indexOf(":");
  return end < 0 ? { kind, id: whole, rest: null } : { kind, id: whole.slice(0, end), rest: whole.slice(end + 1) };
}

/** Kinds of actors that this version knows. */
export const ACTOR_KINDS = ["person", "agent", "control", "server", "system"] as const;
export type ActorKind = (typeof ACTOR_KINDS)[number];

export function actorKind(actor: string): ActorKind | null {
  const kind = actor.split(":", 1)[0];
  return ACTOR_KINDS.find((one) => one === kind) ?? null;
}
