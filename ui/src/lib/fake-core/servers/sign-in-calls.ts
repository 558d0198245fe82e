/* What a made-up core answers about signing in to a server. A browser that comes back is the pasted address. */
import type { ApiError, ServerDto, SignInBegunDto, SignInDto } from "$lib/bindings";
import { shownHost } from "$lib/consent/host";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { iso } from "../random";

type SignInCalls = Pick<
  Answers,
  "signIns.begin" | "signIns.finish" | "signIns.wait" | "signIns.giveUp" | "signIns.signOut"
>;

const MINUTE_MS = 60_000;
const WAIT_MS = 5 * MINUTE_MS;
const SCOPES = ["issues:read", "issues:write", "offline_access"];

const NOTHING: SignInDto = {
  state: "signedOut",
  issuer: null,
  scopes: [],
  missingScopes: [],
  until: null,
  renewed: false,
  by: null,
  at: null,
  needed: null,
  failed: null,
};
const ASKED = {
  why: "the server refused a call without a sign-in",
  hint: "Sign in, and it is made again.",
};

/** Somebody signed in three hours ago, unless something else is said. */
export function aSignIn(change: Partial<SignInDto> = {}): SignInDto {
  return {
    ...NOTHING,
    state: "signedIn",
    issuer: "https://auth.linear.app",
    scopes: SCOPES,
    until: "2026-11-21T15:02:00.000Z",
    renewed: true,
    by: "Mara Lindqvist",
    at: "2026-11-21T11:30:00.000Z",
    ...change,
  };
}

/** The server asks for one. */
export function aNeededSignIn(change: Partial<SignInDto> = {}): SignInDto {
  return { ...NOTHING, state: "needed", needed: ASKED, ...change };
}

/** A browser is waited for at `auth.` before the name of the server. */
export function aBegunSignIn(server: ServerDto, now: number, change: Partial<SignInBegunDto> = {}): SignInBegunDto {
  const serverHost = server.address.kind === "http" ? (shownHost(server.address.url)?.ascii ?? "") : "";
  const issuer = `https://${serverHost.replace(/^[^.]+\./, "auth.")}`;
  const asked = new URLSearchParams({
    response_type: "code",
    client_id: "3f2c9d51",
    redirect_uri: "http://127.0.0.1:41733/callback",
    scope: SCOPES.join(" "),
    state: "kq0Xn7rV2m",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
    resource: server.address.kind === "http" ? server.address.url : "",
  });
  return {
    address: `${issuer}/authorize?${asked.toString()}`,
    host: new URL(issuer).host,
    serverHost,
    since: iso(now),
    issuer,
    scopes: SCOPES,
    until: iso(now + WAIT_MS),
    ...change,
  };
}

export function signInCalls(state: CoreState, server: (name: string) => ServerDto): SignInCalls {
  /** Who waits for the end of a sign-in, by server, and how it was before. */
  const waiting = new Map<string, { before: SignInDto | null; ended: Promise<void>; end: () => void }>();
  const put = (name: string, signIn: SignInDto | null) => {
    const changed = { ...server(name), signIn };
    state.servers.set(name, changed);
    state.send({ servers: [changed] });
    return { signIn };
  };
  const end = (name: string) => {
    waiting.get(name)?.end();
    waiting.delete(name);
  };
  return {
    "signIns.begin": ({ name }) => {
      const one = server(name);
      const before = waiting.get(name)?.before ?? one.signIn;
      end(name);
      let finish: () => void = () => undefined;
      const ended = new Promise<void>((done) => (finish = done));
      waiting.set(name, { before, ended, end: finish });
      put(name, { ...(before ?? NOTHING), state: "waiting", failed: null });
      return aBegunSignIn(one, state.now());
    },
    "signIns.wait": async ({ name, waitMs }) => {
      await Promise.race([waiting.get(name)?.ended, new Promise((done) => setTimeout(done, waitMs ?? 0))]);
      return { signIn: server(name).signIn };
    },
    "signIns.finish": ({ name, address }) => {
      if (!/[?&]code=/.test(address))
        throw {
          code: "usage",
          message: "this is not the address at which the browser ended",
          hint: "Copy it whole, with what follows the question mark.",
        } satisfies ApiError;
      const { issuer, scopes } = aBegunSignIn(server(name), state.now());
      const now = aSignIn({
        issuer,
        scopes,
        until: iso(state.now() + 60 * MINUTE_MS),
        by: state.core.person,
        at: iso(state.now()),
      });
      const shown = put(name, now);
      end(name);
      return shown;
    },
    "signIns.giveUp": ({ name }) => {
      const shown = put(name, waiting.get(name)?.before ?? null);
      end(name);
      return shown;
    },
    "signIns.signOut": ({ name }) => {
      const hadToken = server(name).signIn?.state === "signedIn";
      put(name, aNeededSignIn());
      return { revocation: hadToken ? "done" : "nothing" };
    },
  };
}
