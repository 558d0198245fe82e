// @vitest-environment jsdom
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import TextPreview from "./TextPreview.svelte";

it("a held error begins with its own words", async () => {
  const core = fake();
  const [id = ""] = core.state.rows.keys();
  const page = show(TextPreview, { taskId: id, of: "error" }, core);
  const asked = () => core.called.filter((one) => one.name === "tasks.content").map((one) => one.input);
  await until("it is asked for", asked, (all) => all.length > 0);
  expect(asked()).toEqual([{ id, of: "error" }]);
  await page.close();
});
