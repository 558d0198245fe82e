/* One plan: which tasks it has, its run, and what becomes of each until all have their final result. The core keeps the
   plan; this reads it again and again, and goes on where it was when the page is loaded anew. */
import { apiError, type Backend } from "$lib/backend/backend";
import type { ApiError, BulkAct, BulkTask, PlanMade, PlanShown } from "$lib/bindings";
import type { BulkTarget } from "./bulk-target";
import { troubleFirst } from "./plan-results";

/** A plan that is run is read again after this at the earliest. Judgement: as fast as figures can be read. */
const LOOK_MS = 1_000;
/** A long plan takes long to read: it rests for so many times as long, so that it never fills the core's time. */
const REST_TIMES = 2;

export class PlanRun {
  /** As it was counted; null before that, and after the page was loaded anew. */
  made = $state.raw<PlanMade | null>(null);
  /** As it was read last. */
  shown = $state.raw<PlanShown | null>(null);
  /** What it has: all of them once it runs, the first page before. */
  tasks = $state.raw<readonly BulkTask[]>([]);
  /** Why the last step could not be done. */
  error = $state.raw<ApiError | null>(null);
  busy = $state(false);
  readonly #backend: Backend;
  #timer = 0;
  #isOver = false;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  get operation(): PlanShown["operation"] {
    return this.shown?.operation ?? null;
  }

  /** Fixes the tasks. Nothing is asked. */
  async make(kind: BulkAct, target: BulkTarget): Promise<void> {
    [this.made, this.shown, this.tasks] = [null, null, []];
    await this.#try(async () => {
      const chosen = target.kind === "some" ? { ids: [...target.ids] } : { query: { ...target.query } };
      const made = await this.#backend.call("plans.make", { kind, ...chosen });
      this.#show(await this.#backend.call("plans.show", { id: made.planId }));
      this.made = made;
    });
  }

  /** Asks each of its tasks, and follows them. True when it began. */
  async run(id: string, reason: string | null): Promise<boolean> {
    await this.#try(async () => {
      // The call may last as long as the asking; what it did is told meanwhile.
      this.#follow(id);
      const refused = await this.#backend.call("plans.run", { planId: id, reason }).then(() => null, apiError);
      // It may have begun although its reply was lost.
      await this.#look(id);
      if (this.operation !== null) return;
      this.stop();
      if (refused !== null) throw refused;
    });
    return this.operation !== null;
  }

  /** Goes on with a plan that was run before. */
  async resume(id: string): Promise<void> {
    await this.#look(id);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  close(): void {
    this.#isOver = true;
    this.stop();
  }

  #follow(id: string, afterMs = LOOK_MS): void {
    this.stop();
    if (!this.#isOver) this.#timer = window.setTimeout(() => void this.#look(id), afterMs);
  }

  async #look(id: string): Promise<void> {
    const began = Date.now();
    try {
      const first = await this.#backend.call("plans.show", { id });
      const tasks = [...first.tasks];
      for (let { next } = first; first.operation !== null && next !== null;) {
        const page = await this.#backend.call("plans.show", { id, offset: next });
        tasks.push(...page.tasks);
        next = page.next;
      }
      if (this.#isOver) return;
      this.#show({ ...first, tasks });
      this.error = null;
    } catch (thrown) {
      if (this.#isOver) return;
      this.error = apiError(thrown);
      if (this.error.code === "notFound") return this.stop();
    }
    const isRun = this.operation !== null || this.busy;
    if (isRun && this.operation?.settled !== true)
      this.#follow(id, Math.max(LOOK_MS, REST_TIMES * (Date.now() - began)));
    else this.stop();
  }

  /** While results come in, no row moves; at the end, what may still run comes first. */
  #show(plan: PlanShown): void {
    this.shown = plan;
    this.tasks = plan.operation?.settled === true ? troubleFirst(plan.tasks) : plan.tasks;
  }

  async #try(work: () => Promise<void>): Promise<void> {
    this.busy = true;
    this.error = null;
    try {
      await work();
    } catch (thrown) {
      this.error = apiError(thrown);
    } finally {
      this.busy = false;
    }
  }
}
