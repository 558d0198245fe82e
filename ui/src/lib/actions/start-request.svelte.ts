/* A request to start a task, from the servers screen, the head of the tasks or the palette.
   One dialog (features/start) shows it; the others do not know that dialog. */
import { getContext, setContext } from "svelte";

export interface StartRequest {
  /** Null: the person chooses. */
  readonly server: string | null;
  readonly tool: string | null;
}

export class StartRequests {
  wish = $state.raw<StartRequest | null>(null);

  open(server: string | null = null, tool: string | null = null): void {
    this.wish = { server, tool };
  }

  close(): void {
    this.wish = null;
  }
}

const STARTING = Symbol("starting");
export const setStartRequests = (starting: StartRequests): StartRequests => setContext(STARTING, starting);
export const getStartRequests = (): StartRequests => getContext<StartRequests>(STARTING);
