/* A core made up in memory: what it holds and how it changes. Calls are in calls.ts, the wire in backend.ts. */
import type {
  AgentFacts,
  AnchorDto,
  AnsweredDto,
  AnswerRuleDto,
  AuditRowDto,
  BudgetDto,
  BudgetList,
  CoreDto,
  DeskItem,
  Frame,
  HaltedTaskStateDto,
  HaltShown,
  InboxRow,
  PriceDto,
  ReceiptDto,
  RecordingDto,
  RuleDto,
  ServerDto,
  SettingsDto,
  SessionDto,
  SinkDto,
  StorageDto,
  SubscribeInput,
  TaskDto,
  TaskRow,
  Totals,
} from "$lib/bindings";
import { auditOf, makeAudit, type AuditLog } from "./audit/rows";
import { makeBudgets } from "./budgets";
import { haltedRows } from "./halt/orders";
import { chance, iso, type Chance } from "./random";
import { EVERYTHING, figures, totals, view } from "./query";
import { inboxRow, isOver, makeRows, workOf } from "./rows";
import { makeStorage } from "./storage";
import { CORE, detail, makeAgents, makeServers, request, SETTINGS, SESSIONS } from "./entities";

export interface CoreStateOptions {
  /** A number makes as many; a list is taken as it is. */
  tasks?: number | TaskRow[];
  /** Of the made tasks, how many wait for a person; or the rows themselves. */
  inbox?: number | InboxRow[];
  servers?: number | ServerDto[];
  agents?: number | AgentFacts[];
  rules?: RuleDto[];
  /** Made from the agents when left out. */
  budgets?: BudgetDto[];
  prices?: PriceDto[];
  /** Whole tasks that stand in for made details. */
  details?: TaskDto[];
  views?: DeskItem[];
  userData?: DeskItem[];
  core?: Partial<CoreDto>;
  settings?: Partial<SettingsDto>;
  storage?: Partial<StorageDto>;
  sessions?: SessionDto[];
  /** Ids of tasks that a person hid. */
  hidden?: string[];
  recording?: RecordingDto;
  /** States make a halt of the tasks that are open, each in the next of them. */
  halt?: HaltShown | readonly HaltedTaskStateDto[];
  /** Answered questions; what is left out is made. */
  answered?: Partial<AnsweredDto>[];
  answerRules?: AnswerRuleDto[];
  /** Rows of the audit log; a number makes as many. */
  audit?: number | AuditRowDto[];
  /** How many receipts of calls there are. */
  receipts?: number;
  /** Some of them otherwise, by number. */
  receiptChanges?: Readonly<Record<number, Partial<ReceiptDto>>>;
  /** Files that get copies of checkpoints. */
  anchors?: AnchorDto[];
  /** Collectors that get rows of the audit log. */
  sinks?: SinkDto[];
  /** A frozen now, for stories. */
  now?: number;
  seed?: number;
}

type Delta = Extract<Frame, { type: "delta" }>;

/** What stands in a core of which nothing is said. */
export const [TASKS, INBOX, SERVERS, AGENTS] = [28, 7, 6, 5] as const;
/** A halt that is made from states began so long ago. */
const HALT_AGE_MS = 48_000;
const isStates = (halt: CoreStateOptions["halt"]): halt is readonly HaltedTaskStateDto[] => Array.isArray(halt);
/** As `counting.agents_shown` of the core. */
const BUDGETS_SHOWN = 50;

export class CoreState {
  readonly rows = new Map<string, TaskRow>();
  readonly inbox = new Map<string, InboxRow>();
  /** Servers and agents whose figures follow from the rows. */
  readonly #counted = new Set<string>();
  readonly servers = new Map<string, ServerDto>();
  readonly agents = new Map<string, AgentFacts>();
  rules: RuleDto[];
  budgets: BudgetDto[];
  /** Whose tokens were spent: a window that is emptied takes nothing of it back. */
  readonly spending: readonly BudgetDto[];
  prices: readonly PriceDto[];
  readonly details = new Map<string, TaskDto>();
  /** Ids of the tasks that a person hid. */
  readonly hidden = new Set<string>();
  readonly userData = new Map<string, DeskItem>();
  readonly core: CoreDto;
  settings: SettingsDto;
  storage: StorageDto;
  sessions: SessionDto[];
  recording: RecordingDto;
  halt: HaltShown;
  readonly answered: readonly Partial<AnsweredDto>[];
  readonly answerRules: readonly AnswerRuleDto[];
  audit: AuditLog;
  readonly receipts: number;
  readonly receiptChanges: Readonly<Record<number, Partial<ReceiptDto>>>;
  anchors: AnchorDto[];
  sinks: SinkDto[];
  focus: SubscribeInput = { query: null, ids: [], task: null, visible: true };
  upto = 1;
  onframe: (frame: Frame) => void = () => undefined;
  readonly #now: number | null;
  readonly #roll: Chance;
  #order: string[] = [];

  constructor(options: CoreStateOptions) {
    this.#now = options.now ?? null;
    this.#roll = chance((options.seed ?? 7) + 1);
    this.core = { ...CORE, ...options.core };
    this.settings = { ...SETTINGS, ...options.settings };
    const now = this.now();
    this.sessions = options.sessions ?? SESSIONS(now);
    this.answered = options.answered ?? [];
    this.answerRules = options.answerRules ?? [];
    this.audit = Array.isArray(options.audit) ? auditOf(options.audit) : makeAudit(options.audit ?? 18_204, now);
    this.receipts = options.receipts ?? 4_120;
    this.receiptChanges = options.receiptChanges ?? {};
    this.anchors = options.anchors ?? [];
    this.sinks = options.sinks ?? [];
    this.recording = options.recording ?? { state: "ok" };
    const needy = typeof options.inbox === "number" ? options.inbox : INBOX;
    const made = Array.isArray(options.tasks)
      ? options.tasks
      : makeRows(options.tasks ?? TASKS, Math.min(needy, options.tasks ?? TASKS), now, options.seed);
    const { rows, halt } = isStates(options.halt)
      ? haltedRows(made, options.halt, now - HALT_AGE_MS)
      : { rows: made, halt: options.halt ?? { halt: null, unreadable: null } };
    this.halt = halt;
    for (const row of rows) this.rows.set(row.id, row);
    this.#order = rows.map((row) => row.id);
    this.storage = makeStorage(rows, this.audit, now, options.storage);
    const waiting = Array.isArray(options.inbox)
      ? options.inbox
      : rows.flatMap((row, at) => inboxRow(row, at, now) ?? []);
    for (const row of waiting) this.inbox.set(row.id, row);
    const servers = Array.isArray(options.servers) ? options.servers : makeServers(options.servers ?? SERVERS, now);
    for (const server of servers) {
      if (server.figures.all === 0 && server.openTasks === 0) this.#counted.add(`server:${server.name}`);
      this.servers.set(server.name, server);
    }
    const agents = Array.isArray(options.agents) ? options.agents : makeAgents(options.agents ?? AGENTS, now);
    for (const agent of agents) {
      if (agent.figures.all === 0 && agent.openTasks === 0) this.#counted.add(`agent:${agent.name}`);
      this.agents.set(agent.id, agent);
    }
    for (const server of this.servers.values()) this.#figure({ server: server.name, agent: null });
    for (const agent of this.agents.values()) this.#figure({ server: "", agent: agent.name });
    for (const id of options.hidden ?? []) this.hidden.add(id);
    this.rules = options.rules ?? [];
    this.prices = options.prices ?? [];
    this.budgets = options.budgets ?? makeBudgets([...this.agents.values()], rows, now);
    this.spending = this.budgets;
    for (const task of options.details ?? []) this.details.set(task.id, task);
    for (const item of [...(options.views ?? []), ...(options.userData ?? [])])
      this.userData.set(`${item.kind}/${item.key}`, item);
  }

  totals(): Totals {
    return totals(this.rows.values(), this.inbox.values(), this.now(), this.hidden);
  }

  /** Server and agent of a task with the figures of their tasks, where these were not given. */
  #figure({ server, agent }: { server: string; agent: string | null }): { servers: ServerDto[]; agents: AgentFacts[] } {
    const here = this.#counted.has(`server:${server}`) ? this.servers.get(server) : undefined;
    const whose =
      agent !== null && this.#counted.has(`agent:${agent}`)
        ? [...this.agents.values()].find((one) => one.name === agent)
        : undefined;
    const servers: ServerDto[] = [];
    const agents: AgentFacts[] = [];
    if (here) {
      const sum = figures(
        [...this.rows.values()].filter((row) => row.server === server),
        this.hidden,
      );
      servers.push({ ...here, figures: sum, openTasks: sum.open });
      this.servers.set(server, { ...here, figures: sum, openTasks: sum.open });
    }
    if (whose) {
      const sum = figures(
        [...this.rows.values()].filter((row) => row.agent === agent),
        this.hidden,
      );
      agents.push({ ...whose, figures: sum, openTasks: sum.open, waiting: sum.needsYou });
      this.agents.set(whose.id, { ...whose, figures: sum, openTasks: sum.open, waiting: sum.needsYou });
    }
    return { servers, agents };
  }

  now(): number {
    return this.#now ?? Date.now();
  }

  task(id: string): TaskDto | null {
    const known = this.details.get(id);
    const row = this.rows.get(id);
    if (known) return known;
    if (!row) return null;
    const requests = [...this.inbox.values()]
      .filter((one) => one.task === id && one.key !== null)
      .map((one) =>
        request(
          row,
          one.key ?? "",
          one.kind === "url" ? "url" : one.kind === "unsupported" ? "sampling" : "form",
          one.message ?? "",
        ),
      );
    const made = detail(row, requests, this.now());
    this.details.set(id, made);
    return made;
  }

  /** As the core gives them: the first fifty. */
  budgetList(): BudgetList {
    return {
      budgets: this.budgets.slice(0, BUDGETS_SHOWN),
      more: Math.max(0, this.budgets.length - BUDGETS_SHOWN),
      warnPercent: 80,
      fullPercent: 95,
      sliceTokens: 8_000,
    };
  }

  /** One budget is otherwise now. */
  budget(agentId: string, change: (budget: BudgetDto) => BudgetDto): void {
    this.budgets = this.budgets.map((one) => (one.agentId === agentId ? change(one) : one));
    this.send({ budgets: this.budgetList() });
  }

  viewsOf(): DeskItem[] {
    return [...this.userData.values()].filter((item) => item.kind === "view");
  }

  snapshot(): Frame {
    return {
      type: "snapshot",
      feed: "feed-1",
      upto: this.upto,
      core: this.core,
      recording: this.recording,
      halt: this.halt,
      settings: this.settings,
      servers: [...this.servers.values()],
      agents: [...this.agents.values()],
      rules: this.rules,
      totals: this.totals(),
      inbox: [...this.inbox.values()],
      views: this.viewsOf(),
      budgets: this.budgetList(),
      view: this.#view(),
      task: this.focus.task === null ? null : this.task(this.focus.task),
    };
  }

  /** Sends what changed; everything that is left out did not. */
  send(change: Partial<Delta>): void {
    const after = this.upto;
    this.upto += Math.max(1, change.changes ?? 0);
    this.onframe({
      type: "delta",
      after,
      upto: this.upto,
      changes: 0,
      servers: [],
      goneServers: [],
      agents: [],
      rules: null,
      totals: null,
      inbox: [],
      goneInbox: [],
      rows: [],
      view: null,
      task: null,
      settings: null,
      views: null,
      budgets: null,
      recording: null,
      halt: null,
      ...(change.inbox || change.goneInbox ? { totals: this.totals() } : {}),
      ...change,
    });
  }

  refocus(focus: SubscribeInput): void {
    this.focus = focus;
    this.send({
      view: this.#view(),
      rows: focus.ids.flatMap((id) => this.rows.get(id) ?? []),
      task: focus.task === null ? null : this.task(focus.task),
    });
  }

  /** One task is otherwise now; everything that follows from it is sent. */
  change(id: string, row: Partial<TaskRow>, task: Partial<TaskDto> = {}): void {
    const held = this.rows.get(id);
    if (!held) return;
    const changed: TaskRow = { ...held, ...row, over: isOver(row.phase ?? held.phase), changedAt: iso(this.now()) };
    const next: TaskRow = { ...changed, ...workOf(changed) };
    this.rows.set(id, next);
    const shared = {
      over: next.over,
      phase: next.phase,
      group: next.group,
      status: next.status,
      statusMessage: next.statusMessage,
      progress: next.progress,
      endedAt: next.endedAt,
      changedAt: next.changedAt,
      workedMs: next.workedMs,
      worksSince: next.worksSince,
    };
    const whole = this.task(id);
    if (whole) this.details.set(id, { ...whole, ...shared, ...task });
    this.send({
      changes: 1,
      rows: this.focus.ids.includes(id) ? [next] : [],
      ...this.#figure(next),
      totals: this.totals(),
      view: this.#view(),
      task: this.focus.task === id ? this.task(id) : null,
    });
  }

  /** Hides tasks or shows them again: every figure may be another. */
  putHidden(ids: readonly string[], isHidden: boolean): void {
    for (const id of ids) {
      if (isHidden) this.hidden.add(id);
      else this.hidden.delete(id);
    }
    this.send({ totals: this.totals(), view: this.#view() });
  }

  /** `count` tasks move on a little, in one frame. Composition stays, so that counts stay. */
  stir(count: number): void {
    const watched = new Set(this.focus.ids);
    const changed = new Map<string, TaskRow>();
    for (let at = 0; at < count; at += 1) {
      const id = this.#order[Math.floor(this.#roll() * this.#order.length)];
      const row = id === undefined ? undefined : this.rows.get(id);
      if (!row) continue;
      const done = ((row.progress?.done ?? 0) + 1) % 100;
      const next: TaskRow = {
        ...row,
        progress: { done, total: 100, message: null },
        lastSeenAt: iso(this.now()),
        changedAt: iso(this.now()),
      };
      this.rows.set(row.id, next);
      if (watched.has(row.id)) changed.set(row.id, next);
    }
    this.send({ changes: count, rows: [...changed.values()] });
  }

  #view(): ReturnType<typeof view> | null {
    return this.focus.query === null
      ? null
      : view(this.rows.values(), this.focus.query ?? EVERYTHING, this.now(), this.hidden);
  }
}
