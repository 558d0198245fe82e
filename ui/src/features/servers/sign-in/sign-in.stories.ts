/* Signing in to a server and out of it, in every state: the list, the panel, the dialogs. */
import type { ApiError, ServerDto, SignInBegunDto, SignInDto } from "$lib/bindings";
import type { FakeOptions } from "$lib/fake-core/backend";
import { aBegunSignIn, aNeededSignIn, aSignIn } from "$lib/fake-core/servers/sign-in-calls";
import { story, STORY_NOW, type Story, type StoryFile } from "$lib/fake-core/story";
import Servers from "../Servers.svelte";
import { aServer } from "../servers.example";

const HASH = "#/servers/linear";
const ASK = "[role=tabpanel] button:has-text('Sign in')";
const SIGN_OUT = "[role=tabpanel] button:has-text('Sign out')";
const SWITCH = "[role=tabpanel] button:has-text('Use another account')";
const PASTE = "[role=dialog] button:has-text('Paste the address instead')";
const OPEN = "[role=dialog] button:has-text('Open ')";
const MORE = "[role=dialog] summary";
const ACCESS = "[role=tab] >> nth=3";

const asked = {
  health: {
    kind: "blocked",
    since: "2026-11-21T14:17:00.000Z",
    why: "the server asks for a sign-in",
    hint: "Sign in to it.",
    retryAt: null,
  },
  toolCount: null,
} satisfies Partial<ServerDto>;
const linear = (signIn: SignInDto | null, change: Partial<ServerDto> = {}) =>
  aServer("linear", {
    address: { kind: "http", url: "https://mcp.linear.app/mcp", secretHeaders: [] },
    signIn,
    ...change,
  });
const others = [
  aServer("docs", { openTasks: 3 }),
  aServer("github", {
    address: { kind: "http", url: "https://api.github.example/mcp", secretHeaders: ["Authorization"] },
    dialect: "none",
    pushes: false,
    openTasks: 4,
  }),
];
const needed = linear(aNeededSignIn(), { ...asked, openTasks: 2 });
const refused: ApiError = {
  code: "refused",
  message: "the issuer registers no clients by itself",
  hint: "Register one there, and enter its id under More.",
};
const long = "x".repeat(100_000);
const longHost = `${"login-".repeat(9)}a.${"secure-".repeat(8)}b.${"accounts-".repeat(6)}c.${"x".repeat(60)}.${"verify-".repeat(8)}d.evil.example`;
const hostileScopes = [
  "\u202Eetirw:selif",
  "files\u200b:read",
  `<b>${long}</b>`,
  "",
  "مرحبا",
  ...Array.from({ length: 40 }, (_, at) => `scope-${at + 1}:read`),
];

const shown = (
  server: ServerDto,
  more: Omit<Story, "component" | "props" | "fake"> = {},
  calls: FakeOptions["calls"] = {},
) => story(Servers, {}, { fake: { servers: [server, ...others], calls }, hash: HASH, ...more });
/** The core waits for a browser with this. */
const begun = (change: Partial<SignInBegunDto>): FakeOptions["calls"] => ({
  "signIns.begin": () => aBegunSignIn(needed, STORY_NOW, change),
  "signIns.wait": () => new Promise(() => undefined),
});
const failing = (error: ApiError) => () => {
  throw error;
};

export default {
  title: "servers-sign-in",
  stories: {
    "needed, in the list": story(Servers, {}, { fake: { servers: [needed, ...others] }, hash: "#/servers" }),
    "needed, beside another": story(Servers, {}, { fake: { servers: [needed, ...others] }, hash: "#/servers/docs" }),
    needed: shown(needed),
    "needed, health": shown(needed, { click: ["[role=tab] >> nth=2"] }),
    "needed, after a failed try": shown(
      linear(
        aNeededSignIn({ failed: { why: "nobody signed in within 5 min", hint: "Try again when you have the time." } }),
        asked,
      ),
    ),
    waiting: shown(linear({ ...aNeededSignIn(), state: "waiting", issuer: "https://auth.linear.app" }, asked)),
    "waiting, paste": shown(linear({ ...aNeededSignIn(), state: "waiting" }, asked), {
      click: ["[role=tabpanel] button:has-text('Paste')"],
    }),
    "signed in": shown(linear(aSignIn()), { click: [ACCESS] }),
    "signed in, ends": shown(linear(aSignIn({ renewed: false, by: null })), { click: [ACCESS] }),
    "signed in, nothing named": shown(linear(aSignIn({ scopes: [], renewed: false, until: null })), {
      click: [ACCESS],
    }),
    "permissions missing": shown(linear(aSignIn({ missingScopes: ["files:write"] })), { click: [ACCESS] }),
    failed: shown(
      linear({
        ...aNeededSignIn(),
        state: "signedOut",
        needed: null,
        failed: { why: "auth.linear.app answered `access_denied`", hint: "Sign in and allow it there." },
      }),
      { click: [ACCESS] },
    ),
    "not asked for": shown(linear(null), { click: [ACCESS] }),
    "signs in elsewise": shown(
      linear(null, {
        address: { kind: "http", url: "https://mcp.linear.app/mcp", secretHeaders: ["authorization"] },
      }),
      { click: [ACCESS] },
    ),
    hostile: shown(
      linear(
        aSignIn({
          issuer: `https://${longHost}/`,
          scopes: hostileScopes,
          missingScopes: hostileScopes,
          by: `<i>${long}</i>`,
          failed: { why: `<script>alert(1)</script> \u202E${long}`, hint: `Look ${long}` },
        }),
      ),
      { click: [ACCESS] },
    ),
    "sign out": shown(linear(aSignIn(), { openTasks: 2 }), { click: [ACCESS, SIGN_OUT] }),
    "sign out, refused": shown(
      linear(aSignIn()),
      { click: [ACCESS, SIGN_OUT, "[role=dialog] button:has-text('Sign out')"] },
      { "signIns.signOut": failing({ code: "failed", message: "the keychain is locked", hint: "Unlock it first." }) },
    ),
    "another account": shown(linear(aSignIn()), { click: [ACCESS, SWITCH] }),
    "dialog, finding out": shown(needed, { click: [ASK] }, { "signIns.begin": () => new Promise(() => undefined) }),
    dialog: shown(needed, { click: [ASK] }),
    "dialog, opened": shown(needed, { click: [ASK, OPEN] }),
    "dialog, paste": shown(needed, { click: [ASK, PASTE] }),
    "dialog, another address pasted": shown(needed, {
      click: [ASK, PASTE],
      keys: ["h", "t", "t", "p", "Enter"],
    }),
    "dialog, more": shown(needed, { click: [ASK, MORE] }),
    "dialog, more, not a port": shown(needed, {
      click: [ASK, MORE, "[role=dialog] input[inputmode=numeric]"],
      keys: ["9", "9", "9", "9", "9", "Tab", "Tab", "Tab", "Enter"],
    }),
    "dialog, no permission named": shown(needed, { click: [ASK] }, begun({ scopes: [] })),
    "dialog, look-alike": shown(
      needed,
      { click: [ASK] },
      begun({
        address: "https://xn--uth-5cd.linear.app/authorize?client_id=3f2c9d51",
        host: "xn--uth-5cd.linear.app",
      }),
    ),
    "dialog, refused": shown(needed, { click: [ASK] }, { "signIns.begin": failing(refused) }),
    "dialog, hostile": shown(
      needed,
      { click: [ASK] },
      begun({
        address: `https://${longHost}/authorize?next=\u202E${long.slice(0, 4_000)}`,
        host: longHost,
        serverHost: longHost,
        scopes: hostileScopes,
      }),
    ),
  },
} satisfies StoryFile;
