// @vitest-environment jsdom
/* What the clean-up says of what exceeds a limit. */
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show } from "$lib/fake-core/harness";
import { makeStorage } from "$lib/fake-core/storage";
import { STORAGE } from "$lib/text/storage";
import CleanUp from "./CleanUp.svelte";

it("nothing_is_said_to_be_within_its_limit_while_doctor_reports_that_it_exceeds_it", async () => {
  const made = makeStorage([], { first: 0, last: 0 }, 0);
  const kept = { ...made.stored, keptTasks: { rows: made.limits.tasks + 1, bytes: 0 } };
  for (const tasks of [0, 3]) {
    const storage = { ...made, stored: kept, due: { ...made.due, tasks } };
    const page = show(CleanUp, { storage, ontaken: () => undefined }, fake());
    await page.find("p", "cannot be removed while the tasks are open, held, unanswered or undelivered.");
    expect(page.text()).not.toContain(STORAGE.clean.nothing);
    await page.close();
  }
});
