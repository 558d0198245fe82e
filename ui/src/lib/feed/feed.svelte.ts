/* The only bridge from frames to runes. It subscribes, coalesces what arrives within one frame of the screen,
   and tries again when the core is lost; the last state stays, marked stale. It makes no calls but `feed.focus` and
   `core.ping`: a core that is silent on an open connection is lost as well (heartbeat.ts). */
import { getContext, setContext } from "svelte";
import type { ApiError, Frame, ListQuery, SubscribeInput } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";
import { reduce, type FeedState } from "./feed-state";
import { Heartbeat } from "./heartbeat";
import { ERRORS } from "$lib/text/app";

export type Connection = "connecting" | "live" | "lost";
export interface Focus {
  query: ListQuery | null;
  ids: string[];
  task: string | null;
  visible: boolean;
}

/** A scroll settles within this; the core then counts once and not per row. */
const FOCUS_DEBOUNCE_MS = 100;
const RETRY_FIRST_MS = 250;
const RETRY_LAST_MS = 8_000;

export class Feed {
  /** Null until the first snapshot; the last known state afterwards, whatever happens. */
  state = $state.raw<FeedState | null>(null);
  connection = $state<Connection>("connecting");
  /** Since when the connection is as it is (ms since the epoch). */
  since = $state(Date.now());
  /** Why the feed was lost, while it is. */
  why = $state.raw<ApiError | null>(null);
  /** Until when the state is known to be right: the last frame or answer of a core whose feed was running. */
  heardAt = $state(0);
  /** When a task, a question or a server last changed, as far as this page saw; 0 for never. */
  changedAt = $state(0);
  /** Snapshots shown so far: it changes when the page had to begin anew, and what screens read themselves may be old. */
  begun = $state(0);
  readonly stale = $derived(this.connection !== "live");
  readonly settings = $derived(this.state?.settings ?? null);
  readonly recording = $derived(this.state?.recording ?? null);
  readonly halt = $derived(this.state?.halt ?? null);
  readonly core = $derived(this.state?.core ?? null);
  readonly totals = $derived(this.state?.totals ?? null);
  readonly servers = $derived(this.state?.servers ?? null);
  readonly agents = $derived(this.state?.agents ?? null);
  readonly rules = $derived(this.state?.rules ?? null);
  readonly budgets = $derived(this.state?.budgets ?? null);
  readonly inbox = $derived(this.state?.inbox ?? null);
  readonly views = $derived(this.state?.views ?? null);
  readonly view = $derived(this.state?.view ?? null);
  readonly task = $derived(this.state?.task ?? null);
  readonly rows = $derived(this.state?.rows ?? null);

  readonly #backend: Backend;
  readonly #onopen: (hash: string) => void;
  readonly #heartbeat: Heartbeat;
  /** A subscription is open whose snapshot is not shown yet. */
  #isOpening = false;
  #focus: Focus = { query: null, ids: [], task: null, visible: true };
  #held: FeedState | null = null;
  #stop: (() => void) | null = null;
  #changed = 0;
  #retryMs = RETRY_FIRST_MS;
  #timers = { retry: 0, focus: 0, paint: 0 };
  #ended = false;

  constructor(backend: Backend, onopen: (hash: string) => void = () => undefined) {
    this.#backend = backend;
    this.#onopen = onopen;
    this.#heartbeat = new Heartbeat({
      ping: (signal) => backend.call("core.ping", {}, signal),
      answered: () => this.#answered(),
      silent: (why) => this.#silent(why),
    });
  }

  start(): () => void {
    this.#ended = false;
    this.#subscribe();
    const stopHeartbeat = this.#heartbeat.start();
    return () => {
      this.#ended = true;
      stopHeartbeat();
      this.#stop?.();
      clearTimeout(this.#timers.retry);
      clearTimeout(this.#timers.focus);
      clearTimeout(this.#timers.paint);
    };
  }

  /** Tries at once instead of waiting for the next turn. */
  retry(): void {
    if (this.connection === "live" || this.#ended) return;
    clearTimeout(this.#timers.retry);
    this.#retryMs = RETRY_FIRST_MS;
    this.#subscribe();
    this.#heartbeat.check();
  }

  /** Asks the core now whether it answers, such as when the page is looked at again. */
  check(): void {
    this.#heartbeat.check();
  }

  /** What is on screen. What is left out stays as it was. */
  focus(change: Partial<Focus>): void {
    this.#focus = { ...this.#focus, ...change };
    clearTimeout(this.#timers.focus);
    this.#timers.focus = window.setTimeout(() => this.#sendFocus(), FOCUS_DEBOUNCE_MS);
  }

  get input(): SubscribeInput {
    const { query, ids, task, visible } = this.#focus;
    return { query, ids, task, visible };
  }

  #sendFocus(): void {
    const feed = this.#held?.feed;
    if (feed === undefined || this.connection !== "live") return;
    // A lost call is not an error here: the next subscription carries the focus anyway.
    this.#backend.call("feed.focus", { feed, ...this.input }).catch(() => undefined);
  }

  #subscribe(): void {
    this.#stop?.();
    const sent = this.#focus;
    this.#isOpening = true;
    this.#stop = this.#backend.subscribe(this.input, {
      frame: (frame) => this.#take(frame, sent),
      alive: () => this.#heartbeat.heard(),
      open: this.#onopen,
      end: (why) => this.#lose(why),
    });
  }

  #take(frame: Frame, sent: Focus): void {
    const wasOpening = this.#isOpening;
    this.#heartbeat.heard();
    // The core speaks after a silence, and a fresh snapshot was just asked for.
    if (!wasOpening && this.#isOpening) return;
    const next = reduce(this.#held, frame);
    if (next === "resubscribe") {
      // Once at once; a feed that does not even begin is as good as lost, and is asked again with patience.
      if (this.#held === null) this.#lose({ code: "failed", ...ERRORS.noSnapshot });
      else this.#subscribe();
      this.#held = null;
      return;
    }
    this.#held = next;
    if (frame.type === "delta" && isChange(frame)) this.#changed = Date.now();
    if (frame.type === "snapshot") {
      this.#retryMs = RETRY_FIRST_MS;
      if (this.#focus !== sent) this.focus({});
    }
    // A hidden page gets no animation frames, and its counts must still be right when it is shown.
    if (this.#timers.paint === 0) this.#timers.paint = window.setTimeout(() => this.#paint(), PAINT_MS);
  }

  #paint(): void {
    this.#timers.paint = 0;
    if (this.#held === null) return;
    if (this.#isOpening) this.begun += 1;
    this.#isOpening = false;
    this.state = this.#held;
    this.heardAt = Date.now();
    this.changedAt = this.#changed;
    if (this.connection !== "live") this.#turn("live", null);
  }

  #lose(why: ApiError): void {
    if (this.#ended) return;
    this.#stop?.();
    this.#stop = null;
    this.#held = null;
    this.#isOpening = false;
    if (this.connection !== "lost") this.#turn("lost", why);
    else this.why = why;
    clearTimeout(this.#timers.retry);
    this.#timers.retry = window.setTimeout(() => this.#subscribe(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_LAST_MS);
  }

  /** The core answers: what is shown is right, or is made right by a fresh snapshot. */
  #answered(): void {
    if (this.connection === "live") this.heardAt = Date.now();
    else if (this.why?.code === "noCore" && !this.#isOpening) {
      clearTimeout(this.#timers.retry);
      this.#subscribe();
    }
  }

  /** The core does not answer although nobody closed the feed: the feed stays open, and is opened anew at the next answer. */
  #silent(why: ApiError): void {
    if (this.#ended) return;
    this.#isOpening = false;
    if (this.connection !== "lost") this.#turn("lost", why);
  }

  #turn(to: Connection, why: ApiError | null): void {
    this.connection = to;
    this.since = Date.now();
    this.why = why;
  }
}

function isChange(delta: Extract<Frame, { type: "delta" }>): boolean {
  return (
    delta.changes > 0 ||
    delta.inbox.length > 0 ||
    delta.goneInbox.length > 0 ||
    delta.servers.length > 0 ||
    delta.agents.length > 0
  );
}

/** Half a frame of the screen: frames that arrive together are drawn together. */
const PAINT_MS = 8;

const FEED = Symbol("feed");
const BACKEND = Symbol("backend");

export const setFeed = (feed: Feed): Feed => setContext(FEED, feed);
export const getFeed = (): Feed => getContext<Feed>(FEED);
export const setBackend = (backend: Backend): Backend => setContext(BACKEND, backend);
export const getBackend = (): Backend => getContext<Backend>(BACKEND);
