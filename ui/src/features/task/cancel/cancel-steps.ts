/* The steps of a cancel: asked, acknowledged, still working, cancelled or finished anyway. Each has its time and its
   evidence; the current step is named, never guessed. Pure. */
import type { TaskDto } from "$lib/bindings";
import { singleLine, type IconName, type Tone } from "$lib/design";
import { coarse, hourMinuteSecond, ms, until } from "$lib/format/time";
import { TASK } from "$lib/text/task";

export interface CancelStep {
  readonly key: string;
  readonly icon: IconName;
  readonly tone: Tone | null;
  readonly text: string;
  readonly proof: string | null;
  readonly time: string;
  readonly todo: boolean;
}

/** How this server took cancels so far. */
export interface CancelRecord {
  readonly asked: number;
  readonly stopped: number;
}

export type CancelOutcome =
  "none" | "cancelling" | "stopped" | "endedHere" | "serverEnded" | "finishedAnyway" | "refused";

export function cancelOutcome(task: TaskDto): CancelOutcome {
  const { intent } = task;
  if (intent === null || intent.kind === "unwatched") return "none";
  if (task.serverEnded !== undefined) return "serverEnded";
  switch (intent.state) {
    case "stopped":
      return "stopped";
    case "endedHere":
    case "finishedAnyway":
      return intent.state;
    case "refused":
      return task.over ? "finishedAnyway" : "refused";
    case "asked":
    case "acknowledged":
    case null:
      return task.over ? "finishedAnyway" : "cancelling";
  }
}

export function cancelSteps(task: TaskDto, now: number, habit: CancelRecord | null): CancelStep[] {
  const { intent } = task;
  const server = singleLine(task.server, 80);
  const kind = cancelOutcome(task);
  if (intent === null || kind === "none") return [];
  const words = TASK.cancel.steps;
  const list: CancelStep[] = [
    done(
      "asked",
      intent.sentAt !== null
        ? words.asked(server)
        : kind === "cancelling"
          ? words.recorded
          : kind === "refused" || kind === "endedHere"
            ? words.onlyRecorded
            : words.asked(server),
      intent.sentAt ?? intent.at,
      intent.reason === null || intent.reason === "" ? null : words.reason(singleLine(intent.reason, 200)),
    ),
  ];
  if (intent.acknowledgedAt !== null)
    list.push(done("acknowledged", words.acknowledged(server), intent.acknowledgedAt, null));
  switch (kind) {
    case "stopped":
      return [...list, done("end", words.stopped(server), task.endedAt, null)];
    case "endedHere":
      return [...list, done("end", words.endedHere(server), task.endedAt, null)];
    case "serverEnded":
      return [...list, done("end", words.withServer(server), task.endedAt, null)];
    case "finishedAnyway":
      return [
        ...list,
        {
          ...done("end", words.anyway, task.endedAt, task.result?.state === "stored" ? words.kept : null),
          icon: "check-broken",
          tone: "neutral",
        },
      ];
    case "refused":
      return [
        ...list,
        {
          key: "end",
          icon: "cross",
          tone: "danger",
          text: intent.sentAt === null ? words.notSent(server) : words.refused(server),
          proof: intent.refusedWhy === null ? words.goesOn : singleLine(intent.refusedWhy, 200),
          time: "",
          todo: false,
        },
      ];
    case "cancelling": {
      const since = intent.acknowledgedAt ?? intent.sentAt ?? intent.at;
      const text = intent.acknowledgedAt === null ? words.noWord(server) : words.still(server);
      const proof = [habitText(habit), task.nextLookAt === null ? "" : words.looks(until(task.nextLookAt, now))]
        .filter((part) => part !== "")
        .join(" ");
      const open: CancelStep = {
        key: "open",
        icon: "ring",
        tone: "running",
        text,
        proof,
        time: coarse(now - ms(since)),
        todo: false,
      };
      return [
        ...list,
        open,
        { key: "end", icon: "ring-dashed", tone: null, text: words.todo, proof: null, time: "", todo: true },
      ];
    }
  }
}

/** This cancel is not yet one of those that ended. */
function habitText(habit: CancelRecord | null): string {
  if (habit === null) return "";
  const before = habit.asked - 1;
  return before > 0 ? TASK.cancel.steps.obeyed(Math.min(habit.stopped, before), before) : TASK.cancel.steps.never;
}

function done(key: string, text: string, at: string | null, proof: string | null): CancelStep {
  return {
    key,
    icon: "check",
    tone: "success",
    text,
    proof,
    time: at === null ? "" : hourMinuteSecond(at),
    todo: false,
  };
}
