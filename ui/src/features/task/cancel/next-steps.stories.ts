/* A task whose cancel is not obeyed: the steps that are left, one that was taken, and the question before the last. */
import type { Escalation, ServerDto, TakenStep, TaskDto } from "$lib/bindings";
import { detail, makeServer } from "$lib/fake-core/entities";
import { makeRow } from "$lib/fake-core/rows";
import { story, STORY_NOW, type StoryFile } from "$lib/fake-core/story";
import { fakeEscalation, takenStep } from "$lib/fake-core/tasks/escalation";
import TaskDrawer from "../TaskDrawer.svelte";

const ago = (seconds: number) => new Date(STORY_NOW - seconds * 1_000).toISOString();
const made = makeServer("files", 0, STORY_NOW);
const server: ServerDto = { ...made, figures: { ...made.figures, open: 3 } };
const task: TaskDto = {
  ...detail({ ...makeRow(1, "cancelling", STORY_NOW), agent: "order-bot", server: "files" }, [], STORY_NOW),
  over: false,
  held: null,
  intent: {
    kind: "cancel",
    at: ago(64),
    by: "Mara Lindqvist",
    reason: "wrong month",
    state: "refused",
    refusedWhy: "this server has no way to cancel a task",
    sentAt: ago(64),
    acknowledgedAt: null,
  },
};

function one(taken: readonly TakenStep[], click: readonly string[] = []) {
  const escalation: Escalation = fakeEscalation(task, server, taken);
  return story(
    TaskDrawer,
    { id: task.id, close: () => undefined },
    {
      click: [...click],
      fake: {
        tasks: [],
        details: [task],
        calls: { "tasks.show": () => ({ ...task, log: [], decisions: [], escalation }) },
      },
    },
  );
}

export default {
  title: "task next steps",
  stories: {
    offered: one([]),
    "one taken": one([takenStep(2, "Mara Lindqvist", ago(20), "it must not reach the agent")]),
    "before the last": one([], ["[role=tabpanel] section:has(h3) li:last-child button"]),
  },
} satisfies StoryFile;
