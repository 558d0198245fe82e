/* What a person types under *More* before a sign-in, and what of it is sent. Pure. The core judges the permissions. */
import type { BeginSignIn } from "$lib/bindings";
import { signInText } from "$lib/text/servers/sign-in";

export interface SignInWish {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly port: string;
  readonly privateNetwork: boolean;
}

export const NO_WISH: SignInWish = { clientId: "", clientSecret: "", scopes: "", port: "", privateNetwork: false };

export interface WishProblems {
  readonly clientId: string | null;
  readonly port: string | null;
}

const PORT_MAX = 65_535;

export function wishProblems(wish: SignInWish): WishProblems {
  const { more } = signInText;
  const port = wish.port.trim();
  const isPort = /^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= PORT_MAX;
  return {
    clientId: wish.clientSecret !== "" && wish.clientId.trim() === "" ? more.needsClient : null,
    port: port === "" || isPort ? null : more.notPort,
  };
}

/** What is left empty is left out. */
export function beginInput(name: string, wish: SignInWish): BeginSignIn {
  const scopes = wish.scopes.split(/[\s,]+/).filter(Boolean);
  const [clientId, port] = [wish.clientId.trim(), wish.port.trim()];
  return {
    name,
    ...(clientId === "" ? {} : { clientId }),
    ...(wish.clientSecret === "" ? {} : { clientSecret: wish.clientSecret }),
    ...(scopes.length === 0 ? {} : { scopes }),
    ...(port === "" ? {} : { port: Number(port) }),
    ...(wish.privateNetwork ? { privateNetwork: true } : {}),
  };
}
