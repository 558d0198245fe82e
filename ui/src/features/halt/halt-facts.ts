/* What a halt says, as text: what it covers, what is known of a task, the report. Pure. */
import type { HaltDto, HaltedTaskCounts, HaltedTaskDto, HaltedTaskStateDto, HaltOrderDto } from "$lib/bindings";
import type { IconName } from "$lib/design";
import type { Tone } from "$lib/design";
import { singleLine } from "$lib/design/text/plain-text";
import { exact, hourMinuteSecond } from "$lib/format/time";
import { controlToken } from "$lib/task/control-token";
import { PHASES } from "$lib/task/phase";
import { HALT } from "$lib/text/halt/page";

export const STATES: Readonly<Record<HaltedTaskStateDto, { icon: IconName; tone: Tone }>> = {
  requested: { icon: "arrow-up", tone: "neutral" },
  acknowledged: { icon: "ring-bar", tone: "neutral" },
  confirmed: { icon: "check", tone: "success" },
  notConfirmed: { icon: "question", tone: "attention" },
  open: { icon: "ring", tone: "running" },
};

/** In the order of the tally. */
export const TALLY: readonly HaltedTaskStateDto[] = ["requested", "acknowledged", "confirmed", "notConfirmed", "open"];

export const allOf = (counts: HaltedTaskCounts): number => TALLY.reduce((sum, state) => sum + counts[state], 0);
/** Those that are not known to have ended. */
export const unsettled = (counts: HaltedTaskCounts): number => allOf(counts) - counts.confirmed;

export function placeOf({ server, agent, tool }: HaltOrderDto): string {
  const { places } = HALT;
  if (server !== null) return tool === null ? places.server(server) : places.tool(singleLine(tool, 80), server);
  return agent === null ? places.everything : places.agent(agent);
}

export function whoOf({ by }: HaltOrderDto): string {
  const token = controlToken(by);
  return token === null ? (by ?? HALT.byFile) : HALT.byControl(token);
}

/** What is known of one task, and nothing that is concluded. */
export function knownOf(task: HaltedTaskDto): string {
  const { known } = HALT;
  const phase = PHASES[task.phase].word;
  if (task.endedAt !== null)
    return [known.ended(phase, hourMinuteSecond(task.endedAt)), ...(task.held ? [known.held] : [])].join(", ");
  if (task.refused !== null) return known.refused(singleLine(task.refused, 200));
  const asked = task.askedAt === null ? null : hourMinuteSecond(task.askedAt);
  const acknowledged = task.acknowledgedAt === null ? null : hourMinuteSecond(task.acknowledgedAt);
  switch (task.state) {
    case "requested":
      return asked === null ? phase : known.asked(asked);
    case "acknowledged":
      return acknowledged === null ? phase : known.acknowledged(acknowledged);
    case "notConfirmed":
      if (task.phase !== "cancelling") return phase;
      if (acknowledged !== null) return known.notEnded(phase, acknowledged);
      return asked === null ? phase : known.noWord(asked);
    case "confirmed":
    case "open":
      return phase;
    default:
      task.state satisfies never;
      return phase;
  }
}

/** The page as text, to send to somebody. */
export function report(halt: HaltDto): string {
  const orders = halt.orders.map((order) => {
    const effects = order.inForce.map((effect) => HALT.effects[effect]).join(", ");
    const reason = order.reason === "" ? "" : `: “${order.reason}”`;
    return `${exact(order.at)} ${whoOf(order)}: ${placeOf(order)} (${effects === "" ? HALT.isOver : effects})${reason}`;
  });
  const tally = TALLY.filter((state) => halt.counts[state] > 0).map(
    (state) => `${HALT.states[state]}: ${halt.counts[state]}`,
  );
  const tasks = halt.tasks.map((task) =>
    [task.id, HALT.states[task.state], task.server, task.tool ?? "", task.agent ?? HALT.people, knownOf(task)].join(
      "\t",
    ),
  );
  const steps = halt.steps.map((step) => `${exact(step.at)} ${step.by}: ${HALT.stages[step.stage].title}`);
  return [...orders, ...steps, tally.join(", "), ...tasks].filter((line) => line !== "").join("\n");
}
