/* What a server's sign-in means for its row and its panel. Pure. What others named is made harmless and kept short here. */
import type { ServerDto, SignedOutDto } from "$lib/bindings";
import { shownHost } from "$lib/consent/host";
import { singleLine } from "$lib/design";
import { needsSignIn, takesSignIn } from "$lib/server/standing";
import { signInText } from "$lib/text/servers/sign-in";

/** A sign-in is asked for, or on its way. */
export function isWithoutSignIn(server: ServerDto): boolean {
  return needsSignIn(server) || (server.agreed && takesSignIn(server) && server.signIn?.state === "waiting");
}

/** Longest host in a sentence or on a button. */
const HOST_CHARS = 48;

/** A host in one line. Its end says whose it is, so a long one loses its beginning. */
export function shortHost(host: string, most: number = HOST_CHARS): string {
  const flat = singleLine(host, 2_000);
  return flat.length > most ? `…${flat.slice(1 - most)}` : flat;
}

/** The host of an address that others gave, or what can be shown of it. */
export function hostOf(address: string, most: number = HOST_CHARS): string {
  return shortHost(shownHost(address)?.host ?? address, most);
}

export function issuerHost(server: ServerDto): string | null {
  const issuer = server.signIn?.issuer ?? null;
  return issuer === null ? null : hostOf(issuer);
}

/** Permissions that are named one by one; the rest is a count. */
const NAMED = 12;
const PERMISSION_CHARS = 60;

/** Permissions as others named them. */
export function namedPermissions(scopes: readonly string[], most = NAMED): { named: readonly string[]; more: number } {
  const named = scopes.slice(0, most).map((scope) => singleLine(scope, PERMISSION_CHARS) || "''");
  return { named, more: scopes.length - named.length };
}

/** Whether the issuer forgot the token; null where there was none. */
export function revocationNote({ revocation }: SignedOutDto, host: string | null): string | null {
  switch (revocation) {
    case "nothing":
      return null;
    case "done":
      return signInText.end.forgotten(host);
    case "notConfirmed":
      return signInText.end.notConfirmed(host);
    default:
      return revocation satisfies never;
  }
}
