/* A request to start a task, from the servers screen, the head of the tasks or the palette.
   One dialog (features/start) shows it; the others do not know that dialog. */
import { getContext, setContext } from "svelte";

export interface StartRequest {
  /** Null: the person chooses. */
  readonly server: string | null;
  readonly tool: string | null;
  /** What its form begins with; without them, with the tool's own suggestions. */
  readonly arguments?: Readonly<Record<string, unknown>> | null;
}

export class StartRequests {
  wish = $state.raw<StartRequest | null>(null);

  open(server: string | null = null, tool: string | null = null, values: StartRequest["arguments"] = null): void {
    this.wish = { server, tool, arguments: values };
  }

  close(): void {
    this.wish = null;
  }
}

const STARTING = Symbol("starting");
export const setStartRequests = (starting: StartRequests): StartRequests => setContext(STARTING, starting);
export const getStartRequests = (): StartRequests => getContext<StartRequests>(STARTING);
