/* What a person can do in the inbox: answer, decline, snooze, open, poll, resolve; and what is in progress. It calls the
   core and reports the outcome; which actions a question allows is in request-state.ts. It renders nothing. */
import { getContext, setContext } from "svelte";
import type { ApiError, HeldDto, InboxRow, RequestDto, TaskDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";
import type { Toasts } from "$lib/actions";
import { singleLine } from "$lib/design";
import { FormState, type JsonObject } from "$lib/form";
import { decisionOf, firstDelivery, type Delivery } from "$lib/result-hold/delivery";
import { releasedMessage, releaseInput, type Decision } from "$lib/result-hold/release";
import { duration, ms } from "$lib/format/time";
import { resultHoldText } from "$lib/text/result-hold";
import { answeredText } from "$lib/text/inbox/answered";
import { inboxText } from "$lib/text/inbox";
import { alarmText } from "$lib/text/inbox/alarm";
import { pauseChoiceText } from "$lib/text/inbox/pause-choice";
import { timeLimitText } from "$lib/text/inbox/time-limit";
import { endOf, subjectOf } from "$lib/pause/pause-state";
import { Drafts } from "./drafts";
import { PauseChoices } from "./pause/pause-choices.svelte";
import { backAt, snoozeValue } from "./list/snooze";
import { isCause, isShared } from "./item-title";

export type Outcome = "accept" | "decline" | "dismiss";
export type Popup = "remember" | "confirm" | "cancel" | "resolve" | "withhold" | "dropCalls";

const HOLD_MS = 5_000;
/** With less time than this an answer leaves at once (peers 4.3: only if the deadline allows). */
const HOLD_NEEDS_MS = 3 * HOLD_MS;
export const SNOOZE_MS = 10 * 60_000;
export const KEEP_WAITING_MS = 60 * 60_000;

interface Wiring {
  readonly backend: Backend;
  readonly toasts: Toasts;
  readonly now: () => number;
  /** The item needs nobody now: the next one is selected. */
  readonly leave: (id: string) => void;
  readonly select: (id: string) => void;
}

/** Makes something that goes on after the component that asked for it first: what it derives would stand still with it. */
function outliving<T>(make: () => T): T {
  const made: T[] = [];
  $effect.root(() => void made.push(make()));
  const [only] = made;
  if (only === undefined) throw new Error("a root runs at once");
  return only;
}

export class InboxActions {
  /** Drafts were read, or cannot be; only then forms are made. */
  ready = $state(false);
  /** By item: what a call failed with. */
  failed = $state.raw<ReadonlyMap<string, ApiError>>(new Map());
  busy = $state.raw<ReadonlySet<string>>(new Set());
  popup = $state<Popup | null>(null);
  /** The choices for how long an item is hidden are open. */
  snoozing = $state(false);
  /** By item: when its link was opened here. */
  opened = $state.raw<ReadonlyMap<string, number>>(new Map());
  /** Items whose draft is kept at the core. */
  kept = $state.raw<ReadonlySet<string>>(new Set());
  /** By item: in which form a held result goes to its agent. */
  deliveries = $state.raw<ReadonlyMap<string, Delivery>>(new Map());
  /** Items that were to be delivered with something to correct. */
  tried = $state.raw<ReadonlySet<string>>(new Set());
  readonly #forms = new Map<string, FormState>();
  #formsAt = $state(0);
  readonly #restored = new Map<string, string>();
  /** Answered from here. Their forms stay for a moment, so that an answer that is taken back stands in its form again. */
  sent = $state.raw<ReadonlySet<string>>(new Set());
  /** Which waiting calls of a pause are to be sent. */
  readonly pauses: PauseChoices;
  readonly #drafts: Drafts;
  readonly #to: Wiring;

  constructor(to: Wiring) {
    this.#to = to;
    this.pauses = new PauseChoices(to.backend);
    this.#drafts = new Drafts(to.backend, (key) => {
      this.kept = changed(this.kept, key, this.#drafts.has(key));
    });
  }

  async load(): Promise<void> {
    await this.#drafts.load().catch(() => undefined);
    this.ready = true;
  }

  /** Saves what is still in the air; for the end of the page and of the screen. */
  close(): void {
    void this.#drafts.flush();
  }

  /** The form of an item, as it was left. Call it while its component is made. */
  form(row: InboxRow, request: RequestDto): FormState {
    const held = this.#forms.get(row.id);
    if (held) return held;
    const kept = this.#drafts.of(row.id);
    const form = outliving(
      () =>
        new FormState(request.schema, {
          kind: "question",
          secretFields: request.secretFields,
          start: kept?.draft ?? null,
        }),
    );
    if (kept) this.#restored.set(row.id, kept.at);
    this.#forms.set(row.id, form);
    return form;
  }

  /** A form was made or is gone: what reads `formOf` reads again. */
  formsChanged(): void {
    this.#formsAt += 1;
  }

  formOf(id: string): FormState | null {
    void this.#formsAt;
    return this.#forms.get(id) ?? null;
  }

  /** When the draft that stands in the form was kept, if it was restored. */
  restoredAt(id: string): string | null {
    return this.#restored.get(id) ?? null;
  }

  /** Whether something of the person's would be lost with the item. */
  keeps(id: string): boolean {
    return (!this.sent.has(id) && (this.formOf(id)?.isChanged ?? false)) || this.popup !== null;
  }

  keepDraft(id: string, form: FormState): void {
    if (this.sent.has(id)) return;
    this.#drafts.keep(id, form.isChanged ? form.keepable : null);
  }

  startOver(id: string): void {
    this.#forms.get(id)?.reset();
    this.#restored.delete(id);
    void this.#drafts.forget(id);
  }

  /** The form's answer, or the first field to correct: its name, or `""` for the JSON text. */
  send(row: InboxRow, confirmed: boolean): "sent" | "confirm" | { readonly correct: string | null } {
    const form = this.#forms.get(row.id);
    if (!form) return { correct: null };
    const content = form.content();
    if (content === null) return { correct: form.view === "json" ? "" : (form.firstProblem?.field ?? null) };
    if (row.destructive && !confirmed) {
      this.popup = "confirm";
      return "confirm";
    }
    this.popup = null;
    void this.answer(row, "accept", content);
    return "sent";
  }

  /** Fills in the answer to a question that asks only yes or no; false when it asks more. */
  choose(row: InboxRow, says: boolean): boolean {
    const form = this.#forms.get(row.id);
    const field = form?.yesNo ?? null;
    if (form === undefined || field === null) return false;
    form.set(field, says);
    return true;
  }

  async answer(row: InboxRow, action: Outcome, content: JsonObject | null = null): Promise<void> {
    const { task, key } = row;
    if (task === null || key === null || this.busy.has(row.id)) return;
    const hasTime = row.deadline === null || ms(row.deadline) - this.#to.now() > HOLD_NEEDS_MS;
    // Consent to a visit that was made already has nothing to take back.
    const hold = hasTime && !(row.kind === "url" && action === "accept");
    const given = await this.#try(row.id, () =>
      this.#to.backend.call("tasks.answer", { id: task, key, action, content, hold }),
    );
    if (!given) return;
    this.sent = changed(this.sent, row.id, true);
    // What was sent, secrets above all, does not stay in the page for longer than it can be taken back.
    setTimeout(() => {
      if (this.sent.has(row.id)) this.#forms.delete(row.id);
    }, 2 * HOLD_MS);
    void this.#drafts.forget(row.id);
    this.#to.leave(row.id);
    // A core that answers before the record is read back says nothing of it yet.
    const isHeld = hold && given.request.answer?.notBefore !== null;
    this.#to.toasts.show(told(row, action), isHeld ? { undo: () => this.undo(row), ms: HOLD_MS } : {});
  }

  /** Makes a rule of the answer that stands in the form, and sends it. */
  async remember(row: InboxRow): Promise<void> {
    const { task, key } = row;
    const content = this.#forms.get(row.id)?.content() ?? null;
    if (task === null || key === null || content === null) return;
    const made = await this.#try(row.id, () =>
      this.#to.backend.call("answers.remember", { id: task, key, action: "accept", content }),
    );
    if (!made) return;
    this.popup = null;
    this.#to.toasts.show(answeredText.remember.done);
    await this.answer(row, "accept", content);
  }

  /** Takes a held answer back, and shows the question again as it was. */
  async undo(row: InboxRow): Promise<void> {
    const { task, key } = row;
    if (task === null || key === null) return;
    try {
      await this.#to.backend.call("tasks.undoAnswer", { id: task, key });
    } catch (thrown) {
      this.#to.toasts.fail(apiError(thrown));
      return;
    }
    this.sent = changed(this.sent, row.id, false);
    const form = this.#forms.get(row.id);
    if (form) this.keepDraft(row.id, form);
    // Another screen may stand here by now: the inbox that comes back reads what was kept.
    await this.#drafts.flush();
    this.#to.toasts.show(inboxText.toast.undone);
    this.#to.select(row.id);
  }

  snooze(row: InboxRow, lengthMs = SNOOZE_MS): Promise<void> {
    return this.hide(row, this.#to.now() + lengthMs);
  }

  /** Hides an item until then; null hides it until it changes. Nothing is sent. */
  async hide(row: InboxRow, until: number | null): Promise<void> {
    const kept = snoozeValue(row, this.#to.now(), until);
    const put = (value: { until?: string; changedAt?: string } | null) =>
      this.#to.backend.call("desk.put", { kind: "snooze", key: row.id, value });
    const done = await this.#try(row.id, () => put(kept));
    if (!done) return;
    this.#to.leave(row.id);
    const back = () =>
      put(null).then(
        () => this.#to.select(row.id),
        (thrown: unknown) => this.#to.toasts.fail(apiError(thrown)),
      );
    const words = answeredText.snooze;
    const told = kept.until === undefined ? words.untilChange : words.until(backAt(kept.until, this.#to.now()));
    this.#to.toasts.show(told, { undo: back });
  }

  async wake(row: InboxRow): Promise<void> {
    await this.#try(row.id, () => this.#to.backend.call("desk.put", { kind: "snooze", key: row.id, value: null }));
  }

  /** Opens a link in the system's browser. Nothing else in the app does. */
  async openLink(row: InboxRow, url: string): Promise<void> {
    // Asked for at once, within the click: a browser opens nothing later.
    const opening = this.#to.backend.openOutside(url);
    if (await this.#try(row.id, () => opening.then(() => true)))
      this.opened = new Map([...this.opened, [row.id, this.#to.now()]]);
  }

  async cancel(row: InboxRow, reason: string): Promise<void> {
    const { task } = row;
    // Which call asks is not known: a cancel must not aim at a guess.
    if (task === null || isShared(row)) return;
    const given = await this.#try(row.id, () =>
      this.#to.backend.call("tasks.cancel", {
        ids: [task],
        reason: reason.trim() === "" ? null : reason.trim(),
        wait: false,
      }),
    );
    const why = given?.stops.find((one) => one.id === task && one.task === null)?.why ?? null;
    if (why !== null) this.#fail(row.id, { code: "refused", message: why, hint: "" });
  }

  /** Asks the server to cancel one of the calls of which one asks a question; true when it was asked. */
  async cancelCall(id: string): Promise<boolean> {
    const given = await this.#try(id, () =>
      this.#to.backend.call("tasks.cancel", { ids: [id], reason: null, wait: false }),
    );
    const cancel = given?.stops.find((one) => one.id === id);
    if (cancel?.state === "notAsked")
      this.#fail(id, { code: "refused", message: cancel.why ?? inboxText.shared.unreadable, hint: "" });
    return cancel !== undefined && cancel.state !== "notAsked";
  }

  /** Looks once more, now. */
  async check(row: InboxRow): Promise<void> {
    const { task } = row;
    if (task === null) return;
    const seen = await this.#try(row.id, (): Promise<TaskDto> => this.#to.backend.call("tasks.lookNow", { id: task }));
    if (!seen) return;
    const { lost } = inboxText;
    this.#to.toasts.show(seen.phase === "lost" ? lost.stillLost(row.server) : lost.foundAgain(row.server));
  }

  async resolve(row: InboxRow, note: string): Promise<void> {
    if (isCause(row)) return this.#resolveAll(row, note);
    const { task } = row;
    if (task === null) return;
    const done = await this.#try(row.id, () =>
      this.#to.backend.call("tasks.unwatch", { id: task, note: note.trim() === "" ? null : note.trim() }),
    );
    if (!done) return;
    this.popup = null;
    this.#to.leave(row.id);
    this.#to.toasts.show(inboxText.resolve.done);
  }

  /** Marks everything that was lost together as resolved, each task for itself. */
  async #resolveAll(row: InboxRow, note: string): Promise<void> {
    const id = row.calls?.[0]?.task;
    if (id === undefined) return;
    const told = await this.#try(row.id, () =>
      this.#to.backend.call("inbox.resolve", { id, note: note.trim() === "" ? null : note.trim() }),
    );
    if (!told) return;
    this.popup = null;
    this.#to.leave(row.id);
    const words = answeredText.lost;
    this.#to.toasts.show(words.resolved(told.resolved), {
      hint: told.left.length === 0 ? null : words.left(told.left.length),
    });
  }

  /** The agent gets the result of its task, or never does. */
  async release(row: InboxRow, decision: Decision): Promise<void> {
    const { task } = row;
    if (task === null) return;
    const done = await this.#try(row.id, () => this.#to.backend.call("tasks.release", releaseInput(task, decision)));
    if (!done) return;
    this.popup = null;
    this.#to.leave(row.id);
    this.#to.toasts.show(releasedMessage(decision, singleLine(row.agent ?? resultHoldText.agent, 60)));
  }

  /** What a person chose for a result that is held because of its size. */
  deliverAs(id: string, delivery: Delivery): void {
    this.deliveries = new Map([...this.deliveries, [id, delivery]]);
    this.clearError(id);
  }

  /** Lets a held result go: in the chosen form where its size is why it waits, else as it came. Nothing goes before the
      task is heard, so that nobody lets in what they have not seen. False when something must be corrected first. */
  deliver(row: InboxRow, held: HeldDto | null): boolean {
    if (held === null) return true;
    if (held.why === "review") {
      void this.release(row, { form: "asItCame" });
      return true;
    }
    const decision = decisionOf(this.deliveries.get(row.id) ?? firstDelivery(held));
    if (decision === null) {
      this.tried = changed(this.tried, row.id, true);
      return false;
    }
    void this.release(row, decision);
    return true;
  }

  /** The task goes on past its limit of tokens. */
  async goOn(row: InboxRow): Promise<void> {
    const { task } = row;
    if (task === null) return;
    const done = await this.#try(row.id, () => this.#to.backend.call("tasks.goOn", { id: task }));
    if (!done) return;
    this.#to.leave(row.id);
    this.#to.toasts.show(inboxText.overLimit.wentOn(singleLine(row.tool ?? inboxText.titleOf.aTask, 80)));
  }

  /** The task may run so much longer, counted from now; null takes the limit from it. */
  async allowTime(row: InboxRow, moreMs: number | null): Promise<void> {
    const { task, runLimit } = row;
    if (task === null || runLimit === undefined) return;
    const input = { id: task, limit: runLimit.kind, moreMs };
    const done = await this.#try(row.id, () => this.#to.backend.call("tasks.allowTime", input));
    if (!done) return;
    this.#to.leave(row.id);
    const tool = singleLine(row.tool ?? inboxText.titleOf.aTask, 80);
    const { allowed, removed } = timeLimitText;
    this.#to.toasts.show(moreMs === null ? removed(tool) : allowed(tool, duration(moreMs)));
  }

  /** Sends or cancels the calls that wait because of an alarm. */
  async decideAlarm(row: InboxRow, calls: "send" | "cancel"): Promise<void> {
    const id = row.alarm?.id;
    if (id === undefined) return;
    const done = await this.#try(row.id, () => this.#to.backend.call("alarms.decide", { ids: [id], calls }));
    if (!done) return;
    this.#to.leave(row.id);
    this.#to.toasts.show(alarmText.decided[calls]);
  }

  /** The person has seen what an agent does again and again. */
  async dismissAlarm(row: InboxRow): Promise<void> {
    const id = row.alarm?.id;
    if (id === undefined) return;
    const done = await this.#try(row.id, () => this.#to.backend.call("alarms.dismiss", { ids: [id] }));
    if (!done) return;
    this.#to.leave(row.id);
    this.#to.toasts.show(alarmText.dismissed);
  }

  /** Says no: to a question at once, to a held result and to waiting calls once more asked. */
  decline(row: InboxRow): void {
    if (row.kind === "held") this.popup = "withhold";
    else if (row.kind === "pauseChoice") this.popup = "dropCalls";
    else void this.answer(row, "decline");
  }

  /** Sends the waiting calls that are ticked. That none is sent is asked once more. */
  sendCalls(row: InboxRow): void {
    if (this.pauses.left(row).size === row.pause?.waiting) this.popup = "dropCalls";
    else void this.endPause(row, "ticked");
  }

  /** A pause ends: the calls that are ticked are sent, or none. */
  async endPause(row: InboxRow, send: "ticked" | "none"): Promise<void> {
    const { pause } = row;
    if (pause === undefined) return;
    const calls = this.pauses.calls(row);
    const input = send === "ticked" ? endOf(pause, calls, this.pauses.left(row)) : { ...subjectOf(pause), tasks: [] };
    const done = await this.#try(row.id, () => this.#to.backend.call("pauses.end", input));
    if (!done) return;
    this.popup = null;
    this.#to.leave(row.id);
    const name = singleLine(pause.agent ?? pause.server ?? "", 60);
    this.#to.toasts.show(pauseChoiceText.ended(name, done.sent, done.leftOut, done.stillWaiting));
  }

  /** The person left an item that nobody can answer any more: what was half written goes with it. */
  drop(id: string): void {
    if (this.sent.has(id)) return;
    this.#forms.delete(id);
    this.#restored.delete(id);
    void this.#drafts.forget(id);
  }

  clearError(id: string): void {
    if (!this.failed.has(id)) return;
    this.failed = new Map([...this.failed].filter(([one]) => one !== id));
  }

  async #try<T>(id: string, work: () => Promise<T>): Promise<T | null> {
    if (this.busy.has(id)) return null;
    this.busy = changed(this.busy, id, true);
    this.clearError(id);
    try {
      return await work();
    } catch (thrown) {
      this.#fail(id, apiError(thrown));
      return null;
    } finally {
      this.busy = changed(this.busy, id, false);
    }
  }

  #fail(id: string, error: ApiError): void {
    this.failed = new Map([...this.failed, [id, error]]);
  }
}

function changed(set: ReadonlySet<string>, key: string, isIn: boolean): ReadonlySet<string> {
  if (set.has(key) === isIn) return set;
  return isIn ? new Set([...set, key]) : new Set([...set].filter((one) => one !== key));
}

function told(row: InboxRow, action: Outcome): string {
  const { toast } = inboxText;
  switch (action) {
    case "accept":
      return row.kind === "url" ? toast.consenting(row.server) : toast.sending(row.server);
    case "decline":
      return toast.declining(row.server);
    case "dismiss":
      return toast.dismissing(row.server);
    default:
      action satisfies never;
      return "";
  }
}

const INBOX_ACTIONS = Symbol("inbox actions");
export const setInboxActions = (actions: InboxActions): InboxActions => setContext(INBOX_ACTIONS, actions);
export const getInboxActions = (): InboxActions => getContext<InboxActions>(INBOX_ACTIONS);
