/* The same call once more, from what is stored of it: as a request to start it, and as a command for a terminal. */
import type { StartRequests, Toasts } from "$lib/actions";
import type { TaskDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import { quoteWord } from "$lib/consent/command-line";
import { formArguments, storedArguments } from "$lib/task/stored-arguments";
import { TASK } from "$lib/text/task";

/** `taskwarden call …` with these arguments as they were sent, ready for a POSIX shell. */
export function callCommand(server: string, tool: string, text: string): string {
  const words = ["taskwarden", "call", server, tool];
  if (text !== "{}") words.push("--args", text);
  return words.map(quoteWord).join(" ");
}

/** Starts a task's call once more, or copies it; says why where that is not possible. */
export class RunAgain {
  readonly #backend: Backend;
  readonly #toasts: Toasts;
  readonly #starting: StartRequests;
  readonly #task: () => TaskDto | null;

  constructor(backend: Backend, toasts: Toasts, starting: StartRequests, task: () => TaskDto | null) {
    this.#backend = backend;
    this.#toasts = toasts;
    this.#starting = starting;
    this.#task = task;
  }

  /** Opens the dialog that starts tasks, with the same arguments in its form. */
  start(): Promise<void> {
    return this.#withArguments((server, tool, text) => {
      const values = formArguments(text);
      if (values === null) this.#toasts.show(TASK.actions.notForForm);
      else this.#starting.open(server, tool, values);
    });
  }

  copyCommand(): Promise<void> {
    return this.#withArguments(async (server, tool, text) => {
      await navigator.clipboard.writeText(callCommand(server, tool, text));
      this.#toasts.show(TASK.actions.copiedCommand);
    });
  }

  async #withArguments(act: (server: string, tool: string, text: string) => void | Promise<void>): Promise<void> {
    const task = this.#task();
    if (task?.tool == null) return;
    try {
      const text = await storedArguments(this.#backend, task.id);
      if (text === null) this.#toasts.show(TASK.actions.noArguments);
      else await act(task.server, task.tool, text);
    } catch (thrown) {
      this.#toasts.fail(apiError(thrown));
    }
  }
}
