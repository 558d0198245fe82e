/* Why nothing can be asked of the core now, in one sentence, or null. Set once for the page; every Button with `needsCore`
   is off while there is a reason, and says it. */
import { getContext, setContext } from "svelte";

const TROUBLE = Symbol("core trouble");

export const setCoreUnavailable = (read: () => string | null): void => void setContext(TROUBLE, read);
export const getCoreUnavailable = (): (() => string | null) =>
  getContext<(() => string | null) | undefined>(TROUBLE) ?? (() => null);
