/* The programs that the first run offers to connect, and which of the core's texts each is to be given. The texts are the
   core's; here is only the choice. Pure. */
import type { AgentFacts, ReadySettings, SettingsText } from "$lib/bindings";

export interface Client {
  readonly key: string;
  readonly label: string;
  /** The name that is proposed for it. */
  readonly name: string;
  /** Its word in the core's settings. */
  readonly program: string;
  readonly transport: SettingsText["transport"];
  /** Where its text is pasted, before the core has said so. */
  readonly place: SettingsText["place"];
  /** Whether the core measured it, and counts its results as it shows them. */
  readonly measured: boolean;
}

const program = (key: string, label: string, place: Client["place"], measured = true): Client => ({
  key,
  label,
  name: key,
  program: key,
  transport: "stdio",
  place,
  measured,
});
const anyOther = (key: string, label: string, transport: SettingsText["transport"]): Client => ({
  key,
  label,
  name: "my-agent",
  program: "other",
  transport,
  place: "file",
  measured: false,
});

export const CLIENTS: readonly Client[] = [
  program("claude-code", "Claude Code", "terminal"),
  program("cursor", "Cursor", "file", false),
  program("vscode", "VS Code", "terminal", false),
  program("codex", "Codex", "terminal"),
  program("gemini-cli", "Gemini CLI", "terminal"),
  program("opencode", "opencode", "file"),
  anyOther("http", "HTTP", "http"),
  anyOther("command", "Command", "stdio"),
];

/** The client of an address; the first one when it names none. */
export function clientOf(key: string | null): Client {
  return CLIENTS.find((one) => one.key === key) ?? (CLIENTS[0] as Client);
}

/** The text to paste: a line for a terminal where there is one, as it cannot be put into the wrong place. */
export function textFor(settings: ReadySettings, client: Client): { text: SettingsText; notes: string[] } | null {
  const of = settings.programs.find((one) => one.program === client.program);
  const texts = of?.texts.filter((one) => one.transport === client.transport) ?? [];
  const text = texts.find((one) => one.place === "terminal") ?? texts[0];
  if (text === undefined) return null;
  // What is said of a file is no use beside a line for a terminal; that Gemini CLI must trust the folder is.
  const isToldMore = text.place === "file" ? client.program !== "other" : client.key === "gemini-cli";
  return { text, notes: isToldMore ? (of?.notes ?? []) : [] };
}

/** The same text with dots in the place of the token. */
export function hidden(text: string, token: string): string {
  return token === "" ? text : text.replaceAll(token, "•".repeat(12));
}

/** A name that no agent with access has: `claude-code`, then `claude-code-2`. One that never connected may be replaced. */
export function proposedName(
  client: Client,
  agents: Iterable<Pick<AgentFacts, "name" | "revokedAt" | "seenAt">>,
): string {
  const taken = new Set(
    [...agents].filter((one) => one.revokedAt === null && one.seenAt !== null).map((one) => one.name),
  );
  for (let n = 2, name = client.name; ; n += 1) {
    if (!taken.has(name)) return name;
    name = `${client.name}-${n}`;
  }
}

/** What people type as an agent's name: `Claude Code` is `claude-code`. */
export function slug(typed: string): string {
  return typed
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[.-]+/, "")
    .slice(0, 40);
}
