// @vitest-environment jsdom
import { afterEach, expect, test } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { detail } from "$lib/fake-core/entities";
import { show, type Shown } from "$lib/fake-core/harness";
import { makeRow } from "$lib/fake-core/rows";
import { STORY_NOW } from "$lib/fake-core/story";
import TaskStatusLine from "./TaskStatusLine.svelte";

let shown: Shown;
afterEach(() => shown.close());

test("a_task_that_is_blocked_by_a_sign_in_leads_to_its_server", async () => {
  const task = detail({ ...makeRow(1, "blocked", STORY_NOW), server: "linear" }, [], STORY_NOW);
  shown = show(TaskStatusLine, { task, pushes: false }, fake({ tasks: 0 }));
  const link = await shown.find<HTMLAnchorElement>("a", "until you sign in to the server");
  expect(link.getAttribute("href")).toBe("#/servers/linear");
});
