/* What made-up agents spent, hour by hour. The day's sentence, the table of windows and the chart are sums of these
   hours, and the hours of a window sum to what the window holds, so that no two screens can disagree. */
import type { AgentFacts, BudgetDto, ComingDto, ExactnessDto, ProgramDto, TaskRow, WindowDto } from "$lib/bindings";
import { chance } from "../random";

const HOUR = 3_600_000;
/** When the made-up core was started. */
export const STARTED_AT = "2026-11-21T07:00:00.000Z";
/** A window began so long ago; the one before it ended then. */
export const WINDOW_AGE_MS = 3 * HOUR;
export const EARLIER_AGE_MS = 7 * HOUR;
/** What tasks kept out, for each token that came in: 30 % of what it would have been without them. */
export const KEPT_OUT_PER_TOKEN = 0.43;
/** The earlier window of an agent, as a part of the one it has now. */
export const EARLIER_PART = 0.4;

interface Spent {
  readonly tokens: number;
  readonly keptOut: number;
  readonly messages: number;
}
const NOTHING: Spent = { tokens: 0, keptOut: 0, messages: 0 };
const TOKENS_PER_MESSAGE = 300;

/** Taskwarden did not run in the two hours before it was started, on any day. */
export function wasMeasured(hour: number): boolean {
  const begun = new Date(STARTED_AT).getUTCHours();
  const at = new Date(hour).getUTCHours();
  return at < begun - 2 || at >= begun;
}

/** The part of a window that came in during the hour: all of it between its two ends, nothing outside of them. */
function partOf(window: Pick<WindowDto, "tokens" | "keptOut">, hour: number, from: number, to: number): Spent {
  const first = Math.floor(from / HOUR) * HOUR;
  const last = Math.floor((to - 1) / HOUR) * HOUR;
  if (hour < first || hour > last) return NOTHING;
  const weights = Array.from({ length: Math.round((last - first) / HOUR) + 1 }, (_, at) => 2 + ((at * 7) % 5));
  const whole = weights.reduce((sum, one) => sum + one, 0);
  const parts = (all: number) => weights.map((weight) => Math.floor((all * weight) / whole));
  /** The last hour has what rounding left over. */
  const share = (all: number) => {
    const each = parts(all);
    const rest = all - each.reduce((sum, one) => sum + one, 0);
    return (each[Math.round((hour - first) / HOUR)] ?? 0) + (hour === last ? rest : 0);
  };
  const tokens = share(window.tokens);
  return { tokens, keptOut: share(window.keptOut), messages: Math.round(tokens / TOKENS_PER_MESSAGE) };
}

/** What an agent spent in the hour that begins then; null where nobody measured it. */
export function hourOf(budget: BudgetDto, hour: number, now: number): Spent | null {
  if (!wasMeasured(hour)) return null;
  if (hour > now || budget.now === null) return NOTHING;
  const [began, before] = [now - WINDOW_AGE_MS, now - EARLIER_AGE_MS];
  const beganHour = Math.floor(began / HOUR) * HOUR;
  if (hour >= Math.floor(before / HOUR) * HOUR) {
    // The hour in which one window ended and the next began belongs to the next, so that the day is their sum.
    const inNow = partOf(budget.now, hour, beganHour, now + 1);
    const inEarlier = partOf(earlierFigures(budget.now), hour, before, beganHour);
    return {
      tokens: inNow.tokens + inEarlier.tokens,
      keptOut: inNow.keptOut + inEarlier.keptOut,
      messages: inNow.messages + inEarlier.messages,
    };
  }
  // Busy by day and quiet by night.
  const at = new Date(hour).getUTCHours();
  const roll = chance(hour / HOUR + budget.agent.length * 31)();
  const isToday = Math.floor(hour / 86_400_000) === Math.floor(now / 86_400_000);
  const busy = isToday ? 0 : at > 6 && at < 20 ? 0.35 * roll : 0.03 * roll;
  const tokens = Math.round(budget.now.tokens * busy);
  return {
    tokens,
    keptOut: Math.round(tokens * KEPT_OUT_PER_TOKEN * roll),
    messages: Math.round(tokens / TOKENS_PER_MESSAGE),
  };
}

/** Of the window before this one. */
export function earlierFigures(window: WindowDto): Pick<WindowDto, "tokens" | "keptOut"> {
  return {
    tokens: window.sources.reduce((sum, part) => sum + Math.round(part.tokens * EARLIER_PART), 0),
    keptOut: Math.round(window.keptOut * EARLIER_PART),
  };
}

/** The hours that begin from one moment on and before another, of some agents. */
export function spentBetween(budgets: readonly BudgetDto[], from: number, to: number, now: number) {
  const sum = { tokens: 0, keptOut: 0, messages: 0, countedHours: 0, hours: 0 };
  for (let hour = Math.ceil(from / HOUR) * HOUR; hour < to; hour += HOUR) {
    sum.hours += 1;
    if (!wasMeasured(hour)) continue;
    sum.countedHours += 1;
    for (const budget of budgets) {
      const spent = hourOf(budget, hour, now) ?? NOTHING;
      sum.tokens += spent.tokens;
      sum.keptOut += spent.keptOut;
      sum.messages += spent.messages;
    }
  }
  return sum;
}

const EXACTNESS: readonly ExactnessDto[] = ["exact", "about", "atMost"];
export const least = (all: readonly ExactnessDto[]): ExactnessDto =>
  EXACTNESS[Math.max(0, ...all.map((one) => EXACTNESS.indexOf(one)))] ?? "exact";

/** What the tasks of an agent are about to bring into its window: held results first, then what it may read. */
export function comingOf(agent: AgentFacts, program: ProgramDto, rows: readonly TaskRow[]): ComingDto[] {
  const order: readonly ComingDto["state"][] = ["held", "slices", "ready", "working"];
  return rows
    .flatMap((row) => (row.agent === agent.name ? (comingRow(row, program) ?? []) : []))
    .sort((one, other) => order.indexOf(one.state) - order.indexOf(other.state));
}

/** The largest results of late, of tools that returned some. */
const USUAL_TOKENS: Readonly<Record<string, number>> = {
  render_site: 9_000,
  run_migrations: 2_400,
  build_image: 1_900,
  index_folder: 6_900,
  sync_labels: 3_100,
};

function comingRow(row: TaskRow, program: ProgramDto): ComingDto | null {
  const shared = { id: row.id, server: row.server, tool: row.tool, exactness: row.tokens?.exactness ?? "atMost" };
  if (row.held !== null && row.held.verdict === null)
    return { ...shared, tokens: row.tokens?.result ?? null, state: "held", phase: null, percent: null };
  if (row.phase === "running") {
    const { done, total } = row.progress ?? { done: null, total: null };
    const percent = done == null || total == null || total <= 0 ? null : Math.round((100 * done) / total);
    const usual = USUAL_TOKENS[row.tool ?? ""] ?? null;
    return { ...shared, tokens: usual, exactness: "atMost", state: "working", phase: "running", percent };
  }
  const isUnread = row.tokens?.result != null && row.tokens.delivered < row.tokens.result;
  if (row.phase !== "done" || !isUnread) return null;
  const isLong = program.resultTokens !== null && (row.tokens?.result ?? 0) > program.resultTokens;
  const tokens = (row.tokens?.result ?? 0) - (row.tokens?.delivered ?? 0);
  return { ...shared, tokens, state: isLong ? "slices" : "ready", phase: null, percent: null };
}
