// @vitest-environment jsdom
import { expect, it } from "vitest";
import { fake } from "$lib/backend/fake";
import { show, until } from "$lib/fake/harness";
import BeginsWith from "./BeginsWith.svelte";

it("a held error begins with its own words", async () => {
  const core = fake();
  const [id = ""] = core.world.rows.keys();
  const page = show(BeginsWith, { taskId: id, of: "error" }, core);
  const asked = () => core.called.filter((one) => one.name === "tasks.content").map((one) => one.input);
  await until("it is asked for", asked, (all) => all.length > 0);
  expect(asked()).toEqual([{ id, of: "error" }]);
  await page.close();
});
