/* What a person has typed about a new server, and the address it makes. Pure: it calls nothing.
   A problem names its field and blocks; what only deserves a warning is consent.ts's. */
import type { AddressDto } from "$lib/bindings";
import { joinCommand, splitCommand, type CommandFault } from "$lib/consent/command-line";

/** One row of names with values; `secret` values are stored apart and never come back. */
export interface Pair {
  readonly id: number;
  readonly name: string;
  readonly value: string;
  readonly secret: boolean;
  /** Its value is stored already; nothing typed keeps it. */
  readonly stored?: boolean;
}

export interface Draft {
  readonly kind: "stdio" | "http";
  readonly name: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: readonly Pair[];
  readonly url: string;
  readonly headers: readonly Pair[];
}

export const EMPTY: Draft = { kind: "stdio", name: "", command: "", cwd: "", env: [], url: "", headers: [] };

export type Problem =
  | { readonly field: "name"; readonly why: "missing" | "letters" | "taken" }
  | { readonly field: "command"; readonly why: "missing" | CommandFault }
  | { readonly field: "url"; readonly why: "missing" | "scheme" | "broken" | "password" }
  | {
      readonly field: "pair";
      readonly id: number;
      readonly why: "name" | "badName" | "twice" | "value" | "reserved" | "lineBreak";
    };

export interface ValidatedDraft {
  readonly problems: readonly Problem[];
  /** As far as it can be read; null until there is a program or an address. */
  readonly address: AddressDto | null;
  readonly secrets: Readonly<Record<string, string>>;
}

const SERVER_NAME = /^[a-z0-9._-]{1,40}$/;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers of the protocol and of HTTP itself: the client writes them. */
const RESERVED = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "last-event-id",
  "transfer-encoding",
]);

export function validateDraft(draft: Draft, taken: readonly string[]): ValidatedDraft {
  const problems: Problem[] = [...nameProblems(draft.name.trim(), taken)];
  const pairs = draft.kind === "stdio" ? draft.env : draft.headers;
  const secrets: Record<string, string> = {};
  for (const pair of pairs) if (pair.secret && pair.name !== "" && !keeps(pair)) secrets[pair.name.trim()] = pair.value;
  const address = draft.kind === "stdio" ? stdio(draft, problems) : http(draft, problems);
  problems.push(...pairProblems(pairs, draft.kind));
  return { problems, address, secrets };
}

const keeps = (pair: Pair) => pair.stored === true && pair.value === "";

/** What would have been typed for a server that is there; values of secrets never come back. */
export function draftOf(name: string, address: AddressDto): Draft {
  const pair = (secret: boolean) => (name: string, value: string) => ({ name, value, secret, stored: secret });
  const numbered = (pairs: readonly Omit<Pair, "id">[]) => pairs.map((one, at) => ({ id: at + 1, ...one }));
  if (address.kind === "http")
    return {
      ...EMPTY,
      kind: "http",
      name,
      url: address.url,
      headers: numbered(address.secretHeaders.map((header) => pair(true)(header, ""))),
    };
  return {
    ...EMPTY,
    name,
    command: joinCommand([address.command, ...address.args]),
    cwd: address.cwd ?? "",
    env: numbered([
      ...Object.entries(address.env).map(([key, value]) => pair(false)(key, value)),
      ...address.secretEnv.map((key) => pair(true)(key, "")),
    ]),
  };
}

/** Whether two addresses are the same, value by value. */
export function sameAddress(one: AddressDto, other: AddressDto): boolean {
  const key = (address: AddressDto) =>
    JSON.stringify(
      address.kind === "http"
        ? [address.url, [...address.secretHeaders].sort()]
        : [
            address.command,
            address.args,
            Object.entries(address.env).sort(([a], [b]) => (a < b ? -1 : 1)),
            [...address.secretEnv].sort(),
            address.cwd,
          ],
    );
  return one.kind === other.kind && key(one) === key(other);
}

function nameProblems(name: string, taken: readonly string[]): Problem[] {
  if (name === "") return [{ field: "name", why: "missing" }];
  if (!SERVER_NAME.test(name)) return [{ field: "name", why: "letters" }];
  return taken.includes(name) ? [{ field: "name", why: "taken" }] : [];
}

function stdio(draft: Draft, problems: Problem[]): AddressDto | null {
  const line = splitCommand(draft.command);
  if (line.fault !== null) problems.push({ field: "command", why: line.fault });
  const [command, ...args] = line.words;
  if (command === undefined || command.trim() === "") {
    if (line.fault === null) problems.push({ field: "command", why: "missing" });
    return null;
  }
  const env: Record<string, string> = {};
  for (const pair of draft.env) if (!pair.secret && pair.name.trim() !== "") env[pair.name.trim()] = pair.value;
  const cwd = draft.cwd.trim();
  return { kind: "stdio", command, args, env, secretEnv: secretNames(draft.env), cwd: cwd === "" ? null : cwd };
}

function http(draft: Draft, problems: Problem[]): AddressDto | null {
  const text = draft.url.trim();
  if (text === "") {
    problems.push({ field: "url", why: "missing" });
    return null;
  }
  const url = readUrl(text);
  if (url === null) {
    problems.push({ field: "url", why: /^https?:\/\//i.test(text) ? "broken" : "scheme" });
    return null;
  }
  if (url.username !== "" || url.password !== "") {
    problems.push({ field: "url", why: "password" });
    return null;
  }
  return { kind: "http", url: url.href, secretHeaders: secretNames(draft.headers) };
}

export function readUrl(text: string): URL | null {
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const url = new URL(text);
    return url.hostname === "" ? null : url;
  } catch {
    return null;
  }
}

function secretNames(pairs: readonly Pair[]): string[] {
  return [...new Set(pairs.filter((pair) => pair.secret && pair.name.trim() !== "").map((pair) => pair.name.trim()))];
}

function pairProblems(pairs: readonly Pair[], kind: Draft["kind"]): Problem[] {
  const found: Problem[] = [];
  const seen = new Set<string>();
  for (const { id, name, value, secret, stored } of pairs) {
    const plain = name.trim();
    const key = kind === "http" ? plain.toLowerCase() : plain;
    // A row that is still empty is no row.
    if (plain === "" && value === "") continue;
    if (plain === "") found.push({ field: "pair", id, why: "name" });
    else if (!(kind === "stdio" ? ENV_NAME : HEADER_NAME).test(plain))
      found.push({ field: "pair", id, why: "badName" });
    else if (kind === "http" && (RESERVED.has(key) || key.startsWith("mcp-")))
      found.push({ field: "pair", id, why: "reserved" });
    else if (seen.has(key)) found.push({ field: "pair", id, why: "twice" });
    else if (secret && value === "" && stored !== true) found.push({ field: "pair", id, why: "value" });
    else if (kind === "http" && /[\r\n]/.test(value)) found.push({ field: "pair", id, why: "lineBreak" });
    seen.add(key);
  }
  return found;
}

/** A name that the command or the address suggests; empty when it suggests none. */
export function suggestName(draft: Draft): string {
  const raw = draft.kind === "http" ? hostWord(draft.url) : packageWord(splitCommand(draft.command).words);
  return raw
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-._]+|[-._]+$/g, "")
    .slice(0, 40);
}

const RUNNERS = new Set([
  "npx",
  "uvx",
  "bunx",
  "pnpx",
  "node",
  "python",
  "python3",
  "uv",
  "deno",
  "docker",
  "podman",
  "sh",
  "bash",
  "env",
]);

function packageWord(words: readonly string[]): string {
  const base = (word: string) => word.split(/[/\\]/).at(-1) ?? "";
  const program = base(words[0] ?? "");
  const named = RUNNERS.has(program)
    ? (words.slice(1).find((word) => !word.startsWith("-") && word !== "run" && word !== "-m") ?? program)
    : program;
  const bare = base(named)
    .replace(/(?<=.)@[^@]*$/, "")
    .replace(/\.(?:js|mjs|cjs|ts|py|exe|sh)$/, "");
  return bare.replace(/^(?:mcp-server-|server-|mcp-)|(?:-mcp-server|-mcp|-server)$/g, "") || bare;
}

function hostWord(url: string): string {
  const host = readUrl(url.trim())?.hostname ?? "";
  const labels = host.split(".").filter((label) => !["www", "mcp", "api"].includes(label));
  return labels[0] ?? "";
}
