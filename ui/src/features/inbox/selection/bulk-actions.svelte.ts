/* What is done with several items of the inbox at once. Each of them is a decision of its own at the core. It renders
   nothing. */
import type { InboxRow, OneQuestion } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import type { Toasts } from "$lib/actions";
import type { JsonObject } from "$lib/form";
import { answeredText } from "$lib/text/inbox/answered";
import { snoozeValue } from "../list/snooze";

/** As long as the core holds an answer back, less the way there. */
const UNDO_MS = 4_500;

interface Wiring {
  readonly backend: Backend;
  readonly toasts: Toasts;
  readonly now: () => number;
  /** Nothing is left to do with the selection. */
  readonly done: () => void;
}

export class BulkActions {
  busy = $state(false);
  readonly #to: Wiring;

  constructor(to: Wiring) {
    this.#to = to;
  }

  /** One answer to all of these equal questions; for a few seconds all of it can be taken back. */
  answer(rows: readonly InboxRow[], action: "accept" | "decline", content: JsonObject | null): Promise<void> {
    const questions = rows.flatMap(({ task, key }): OneQuestion[] =>
      task === null || key === null ? [] : [{ id: task, key }],
    );
    return this.#run(async () => {
      const given = await this.#to.backend.call("inbox.answer", { questions, action, content });
      const words = answeredText.bulk;
      const [left] = given.left;
      if (left !== undefined)
        this.#to.toasts.show(words.left(given.left.length, left.why), { tone: "danger", hint: null });
      if (given.done.length > 0)
        this.#to.toasts.show(words.sending(given.done.length), { undo: () => this.#undo(given.done), ms: UNDO_MS });
    });
  }

  async #undo(questions: OneQuestion[]): Promise<void> {
    try {
      const undone = await this.#to.backend.call("inbox.undoAnswer", { questions });
      const [left] = undone.left;
      this.#to.toasts.show(answeredText.bulk.undone(undone.done.length), {
        hint: left === undefined ? null : answeredText.bulk.left(undone.left.length, left.why),
      });
    } catch (thrown) {
      this.#to.toasts.fail(apiError(thrown));
    }
  }

  /** Hides all of them until then, or until each changes. */
  snooze(rows: readonly InboxRow[], until: number | null, told: string): Promise<void> {
    const put = (row: InboxRow, value: { until?: string; changedAt?: string } | null) =>
      this.#to.backend.call("desk.put", { kind: "snooze", key: row.id, value });
    return this.#run(async () => {
      await Promise.all(rows.map((row) => put(row, snoozeValue(row, this.#to.now(), until))));
      this.#to.toasts.show(told, {
        undo: () =>
          Promise.all(rows.map((row) => put(row, null))).then(
            () => undefined,
            (thrown: unknown) => this.#to.toasts.fail(apiError(thrown)),
          ),
      });
    });
  }

  /** Marks all of these lost tasks, and what was lost with each, as resolved. */
  resolve(rows: readonly InboxRow[], note: string): Promise<void> {
    return this.#run(async () => {
      let [resolved, left] = [0, 0];
      for (const row of rows) {
        const id = row.task ?? row.calls?.[0]?.task;
        if (id === undefined) continue;
        const told = await this.#to.backend.call("inbox.resolve", {
          id,
          note: note.trim() === "" ? null : note.trim(),
        });
        resolved += told.resolved;
        left += told.left.length;
      }
      const words = answeredText.lost;
      this.#to.toasts.show(words.resolved(resolved), { hint: left === 0 ? null : words.left(left) });
    });
  }

  async #run(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      await work();
      this.#to.done();
    } catch (thrown) {
      this.#to.toasts.fail(apiError(thrown));
    } finally {
      this.busy = false;
    }
  }
}
