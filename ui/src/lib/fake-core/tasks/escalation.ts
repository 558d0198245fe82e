/* The steps to end a task that a made-up core offers, and what it says of those that were taken. */
import { plural } from "$lib/format/count";
import type { Escalation, OfferedStep, ServerDto, TakenStep, TaskDto } from "$lib/bindings";

const STEPS = ["cancel", "holdResult", "revoke", "revokeAgent", "shutDown"] as const;

export function fakeEscalation(task: TaskDto, server: ServerDto | undefined, taken: readonly TakenStep[]): Escalation {
  const { agent } = task;
  const others = Math.max(1, server?.figures.open ?? 1);
  const base = { tasks: 1, agents: agent === null ? [] : [agent], processes: [], confirm: false };
  const ofAgent: OfferedStep[] =
    agent === null
      ? []
      : [
          { ...base, number: 2, step: "holdResult", label: "Hold its result", affects: "this task's result" },
          {
            ...base,
            number: 3,
            step: "revoke",
            label: `Revoke from ${agent}`,
            affects: "the agent's handle of this task",
          },
          {
            ...base,
            number: 4,
            step: "revokeAgent",
            label: `Revoke ${agent} (ends 2 tasks)`,
            affects: "the agent's access, and all its tasks",
            tasks: 2,
            confirm: true,
          },
        ];
  const isLocal = server?.address.kind === "stdio";
  const ofServer: OfferedStep[] = isLocal
    ? [
        {
          ...base,
          number: 5,
          step: "shutDown",
          label: `Shut down ${task.server} (ends ${plural(others, "task")})`,
          affects: "the local server process, everything it started, and every task in it",
          tasks: others,
          processes: [{ pid: 48_211, name: "node" }],
          confirm: true,
        },
      ]
    : [];
  const last = Math.max(1, ...taken.map((step) => step.number));
  return {
    steps: [...taken],
    offered: task.over ? [] : [...ofAgent, ...ofServer].filter((step) => step.number > last),
    unavailable: isLocal
      ? []
      : [{ number: 5, step: "shutDown", why: "Only the operator of a remote server can shut it down." }],
    stopped: null,
    record: null,
  };
}

export function takenStep(number: number, by: string, at: string, reason: string | null): TakenStep {
  const step = STEPS[number - 1] ?? "cancel";
  const evidence =
    number === 2 ? "The result is held before its agent gets it." : "The server was asked; no reply yet.";
  return { number, step, at, by, reason, evidence, pending: false, otherTasks: 0, processes: null };
}
