/* Text about signing in to a server with a browser. What a server, or who gives its tokens, says is never part of it. */
import { listed, plural } from "$lib/format/count";

const signIn = "Sign in…";

export const signInText = {
  title: "Sign-in",
  signIn,
  again: "Sign in again…",
  giveUp: "Give up",
  pasteInstead: "Paste the address instead",

  notAsked: (server: string) => `${server} has not asked for a sign-in.`,
  needed: (server: string) => `${server} asks for a sign-in`,
  /** The server has open tasks. */
  blocked: (n: number) => `Taskwarden checks ${plural(n, "open task")} on it again after the sign-in.`,
  waiting: (host: string | null) => `Waiting for the browser${host === null ? "" : ` at ${host}`}`,
  waitingEnds: "Complete the sign-in in the browser. Taskwarden stops waiting after a few minutes.",
  failed: "The last try failed",
  missing: (server: string, wanted: readonly string[], more: number) =>
    `${server} wants the ${wanted.length + more === 1 ? "permission" : "permissions"} ${listed(more > 0 ? [...wanted, `${more} more`] : wanted)}, which this sign-in does not have.`,

  facts: {
    host: "Signed in at",
    permissions: "Permissions",
    none: "none named",
    more: (n: string) => `and ${n} more`,
    by: "Signed in by",
    byWhom: (who: string, when: string) => `${who}, ${when}`,
    ends: "Validity",
    renewed: "renewed automatically",
    until: (when: string) => `ends ${when}`,
    over: (when: string) => `ended ${when}`,
    noEnd: "no end is known",
  },
  signOut: "Sign out…",
  switch: "Use another account…",

  dialog: {
    title: (server: string) => `Sign in to ${server}`,
    finding: (server: string) => `Finding out where to sign in to ${server}`,
    /** Before the host, which stands on a line of its own. */
    at: "Sign in at",
    /** After it. */
    for: (serverHost: string) => `for ${serverHost}.`,
    issuer: "Access given by",
    permissions: "Permissions",
    noPermissions: "The server names none.",
    namedBy: (host: string) => `As ${host} names them.`,
    address: "Address",
    copy: "Copy the address",
    copied: "Copied the address",
    notCopied: "The clipboard could not be written.",
    notWeb: "This is not a web address, so it is not opened.",
    open: (host: string) => `Open ${host}`,
    openAgain: (host: string) => `Open ${host} again`,
    notOpened: "No browser could be opened. Copy the address and open it yourself.",
    waits: (host: string, when: string) => `Waiting for the browser until ${when}. Complete the sign-in at ${host}.`,
    cancel: "Cancel",
    finds: "Finding the page…",
    retry: "Try again",
    continue: "Continue with these",
    failed: "The sign-in failed.",
    elsewhere: "it was given up elsewhere",
    elsewhereHint: "Try again if you still want to sign in.",
    done: (server: string, host: string | null) => `Signed in to ${server}${host === null ? "" : ` at ${host}`}`,
  },

  paste: {
    label: "Address at which the browser ended",
    hint: "For a browser on another machine. It ends at an address that begins with http://127.0.0.1 and may say that the page cannot be reached. Paste that address here.",
    missing: "Paste the address first.",
    finish: "Finish the sign-in",
  },

  more: {
    title: "More",
    clientId: "Client id",
    clientIdHint: "Only if you registered Taskwarden there yourself: the id that you were given.",
    clientSecret: "Client secret",
    clientSecretHint: "The secret that came with the id. Leave empty if there was none; it is stored as a secret.",
    needsClient: "Enter the client id that the secret belongs to.",
    scopes: "Extra permissions",
    scopesHint: "Asked for beside those the server names, such as files:read. Separate them with spaces.",
    port: "Port",
    portHint: "The browser comes back to it on this machine. Leave empty for any free one.",
    notPort: "Enter a number from 1 to 65535.",
    privateNetwork: "The place to sign in is in a private network",
    privateNetworkNote: "Otherwise private addresses are refused.",
  },

  end: {
    title: (server: string) => `Sign out of ${server}?`,
    switchTitle: (server: string) => `Use another account for ${server}?`,
    what: (server: string, host: string | null) =>
      `Taskwarden deletes its tokens for ${server}${host === null ? "" : ` and asks ${host} to forget them`}.`,
    tasks: (n: number) =>
      n === 0
        ? "It has no open tasks. New calls fail until somebody signs in."
        : `Taskwarden cannot check its ${plural(n, "open task")} until somebody signs in.`,
    browser: (host: string | null) =>
      `Then you sign in again. If the browser is still signed in${host === null ? "" : ` at ${host}`}, sign out there first.`,
    keep: "Stay signed in",
    run: "Sign out",
    switch: "Sign out and sign in again",
    done: (server: string) => `Signed out of ${server}`,
    forgotten: (host: string | null) => `${host ?? "The place of the sign-in"} forgot the token.`,
    notConfirmed: (host: string | null) =>
      `${host ?? "The place of the sign-in"} did not confirm that it forgot the token. It stays valid there until it expires.`,
  },
} as const;
