/* A request to sign in to a server, or out of it, from its row or its panel. One host (`SignInHost`) shows the dialogs. */
import { getContext, setContext } from "svelte";

/** `switch`: out, and in again with another account. */
export type SignInAct = "signIn" | "signOut" | "switch";

export class SignInRequests {
  wish = $state.raw<{ readonly server: string; readonly act: SignInAct } | null>(null);
  /** Where focus goes once it is over: the panel that asked, because its button is another one by then. */
  panel: HTMLElement | null = null;

  open(server: string, act: SignInAct): void {
    // Of two dialogs in a row, the first was asked for in the panel.
    if (this.wish === null) this.panel = document.activeElement?.closest<HTMLElement>("[role=tabpanel]") ?? null;
    this.wish = { server, act };
  }

  close(): void {
    this.wish = null;
  }
}

const SIGN_INS = Symbol("sign-ins");
export const setSignInRequests = (requests: SignInRequests): SignInRequests => setContext(SIGN_INS, requests);
export const getSignInRequests = (): SignInRequests => getContext<SignInRequests>(SIGN_INS);
