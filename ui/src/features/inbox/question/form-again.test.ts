// @vitest-environment jsdom
/* A form is left for another item and filled in after that: it checks and sends what stands in it now. */
import { beforeEach, expect, it } from "vitest";
import { clock } from "$lib/clock.svelte";
import { fake } from "$lib/fake-core/backend";
import { show, until } from "$lib/fake-core/harness";
import { STORY_NOW } from "$lib/fake-core/story";
import { route } from "$lib/route.svelte";
import Inbox from "../Inbox.svelte";
import { item } from "../inbox.example";

const nothing = () => undefined;
// jsdom lays nothing out; the list asks for it all the same.
Object.assign(globalThis, {
  ResizeObserver: class {
    observe = nothing;
    disconnect = nothing;
  },
  matchMedia: () => ({ matches: false, addEventListener: nothing, removeEventListener: nothing }),
});

beforeEach(() => {
  clock.freeze(STORY_NOW);
  document.body.replaceChildren(document.createElement("main"));
});

const schema = {
  type: "object",
  properties: { city: { type: "string", title: "City" }, note: { type: "string", title: "Note" } },
  required: ["city"],
};
const ITEMS = [21, 22].map((at) =>
  item({ at, kind: "form", message: `Where to, traveller ${at}?`, request: { schema } }),
);

it("a_form_that_was_left_for_another_item_can_be_filled_in_and_sent", async () => {
  const [first, second] = ITEMS;
  if (!first || !second) throw new Error("two items are made");
  const backend = fake({
    now: STORY_NOW,
    tasks: ITEMS.map(({ taskRow }) => taskRow),
    inbox: ITEMS.map(({ row }) => row),
    details: ITEMS.map(({ task }) => task),
  });
  route.go("inbox", first.row.id);
  const shown = show(Inbox, {}, backend);
  await shown.find("input[type=text]");
  for (const other of [second, first]) {
    route.go("inbox", other.row.id);
    await shown.find("h2", `traveller ${other === first ? 21 : 22}`);
  }
  await shown.type("input[type=text]", "Lisbon");
  await shown.press("footer button", "Send");
  const answers = () => backend.called.filter(({ name }) => name === "tasks.answer").map(({ input }) => input);
  await until("the answer to leave", () => answers().length === 1);
  expect(answers()).toMatchObject([{ id: first.row.task, action: "accept", content: { city: "Lisbon" } }]);
  await until("the next item to be open", () => route.id === second.row.id);
  await shown.close();
});
