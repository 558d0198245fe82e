/* The servers that agent programs on this machine have, and which of them a person wants. */
import type { AddressDto, AgentClient, ClientFile, ClientServer, ImportPick } from "$lib/bindings";
import { joinCommand } from "$lib/consent/command-line";
import { addressWithoutSecrets, withoutSecrets } from "$lib/consent/secret-guess";
import { textMatcher } from "$lib/text-match";

/** One file of one program, with what can be said about its servers. */
export interface FoundFile {
  readonly client: AgentClient;
  readonly file: ClientFile;
  readonly servers: readonly FoundServer[];
}
export interface FoundServer {
  /** Of this entry in this file; two programs that have the same server have two keys. */
  readonly key: string;
  readonly server: ClientServer;
  /** It can be imported. */
  readonly isOpen: boolean;
  /** It is wanted unless somebody says otherwise: the program starts it, and no entry before it is the same. */
  readonly isSuggested: boolean;
}
/** What a person typed, by the key of the entry and the name of the value. */
export type Typed = Readonly<Record<string, Readonly<Record<string, string>>>>;

const RANK = { new: 0, unresolved: 1, known: 2, routed: 3 } as const;

/** Every file that has servers or a problem, in the order of the core; what can be imported comes first. */
export function foundFiles(clients: readonly AgentClient[]): readonly FoundFile[] {
  const seen = new Set<string>();
  return clients.flatMap((client) =>
    client.files
      .filter((file) => file.problem !== null || file.servers.length > 0)
      .map((file) => ({ client, file, servers: serversOf(file, seen) })),
  );
}

function serversOf(file: ClientFile, seen: Set<string>): FoundServer[] {
  const found = file.servers.map((server) => {
    const isOpen = server.state === "new" && server.fingerprint !== null && server.address !== null;
    const same = JSON.stringify([server.server, server.address, server.folder]);
    const isSuggested = isOpen && !server.disabled && !seen.has(same);
    if (isOpen) seen.add(same);
    return { key: JSON.stringify([file.path, ...server.place]), server, isOpen, isSuggested };
  });
  return found.sort((a, b) => RANK[a.server.state] - RANK[b.server.state]);
}

/** The entries that match what was typed: by name, by what would run, by program and by file. */
export function matching(files: readonly FoundFile[], typed: string): readonly FoundFile[] {
  if (typed.trim() === "") return files;
  const matches = textMatcher(typed);
  return files.flatMap(({ client, file, servers }) => {
    const found = servers.filter(({ server }) =>
      matches(
        [
          server.name,
          server.server ?? "",
          client.label,
          file.path,
          server.address ? commandOf(server.address) : "",
        ].join(" "),
      ),
    );
    return found.length === 0 ? [] : [{ client, file, servers: found }];
  });
}

/** What would run, or be contacted, on one line, without what looks like a secret. */
export function commandOf(address: AddressDto): string {
  if (address.kind === "http") return addressWithoutSecrets(address.url);
  const line = joinCommand([address.command, ...withoutSecrets(address.args)]);
  return line.replace(/'([\w=-]*\(hidden\))'/g, "$1");
}

/** How many values of an entry go into the vault. */
export function vaultValues(address: AddressDto): number {
  return address.kind === "http"
    ? address.secretHeaders.length
    : address.secretEnv.length + Object.keys(address.env).length;
}

/** Names of values that nobody gave and that have no value of their own. */
export function missingValues({ key, server }: FoundServer, typed: Typed): readonly string[] {
  return server.variables
    .filter(({ name, default: fallback }) => fallback === null && (typed[key]?.[name] ?? "") === "")
    .map(({ name }) => name);
}

/** What is asked of the core. A value that was left empty is not sent, so that the one of the file holds. */
export function picksOf(
  files: readonly FoundFile[],
  wanted: (found: FoundServer) => boolean,
  typed: Typed,
): ImportPick[] {
  return files.flatMap(({ file, servers }) =>
    servers.filter(wanted).map(({ key, server }) => ({
      path: file.path,
      place: server.place,
      fingerprint: server.fingerprint ?? "",
      values: Object.fromEntries(Object.entries(typed[key] ?? {}).filter(([, value]) => value !== "")),
    })),
  );
}
