// @vitest-environment jsdom
/* The end of a server's process as a person gives it in the window. */
import { expect, it } from "vitest";
import { fake } from "$lib/fake-core/backend";
import { show } from "$lib/fake-core/harness";
import EndServer from "./EndServer.svelte";

it("a_process_that_was_told_to_end_and_still_runs_is_named_and_the_dialog_stays", async () => {
  for (const [left, told] of [
    [[8], "was told to end, and still runs."],
    [[8, 9], "were told to end, and still run."],
  ] as const) {
    const acted = (name: string) => ({ name, processes: [7], openTasks: 0, left: [...left] });
    const core = fake({ tasks: 0, calls: { "servers.end": ({ name }) => acted(name) } });
    const server = [...core.state.servers.values()].find((one) => one.address.kind === "stdio");
    if (!server) throw new Error("the made-up core has a local server");
    const page = show(EndServer, { server, act: "end" as const }, core);
    await page.press("button", "End process…");
    await page.find("p", "Process 48211");
    await page.press(".actions button", "End process");
    const alert = await page.find("p[role=alert]", told);
    expect(alert.textContent).toContain(`${left.join(", ")} of ${server.name} `);
    await page.close();
  }
});
