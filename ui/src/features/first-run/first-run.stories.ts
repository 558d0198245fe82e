/* The empty app. */
import { story, type StoryFile } from "$lib/fake-core/story";
import FirstRun from "./FirstRun.svelte";

const empty = { servers: 0, tasks: 0, inbox: 0 };
const failed = { code: "failed", message: "the program `taskwarden` was not found", hint: "Install it again." };

export default {
  title: "first-run",
  stories: {
    start: story(FirstRun, {}, { fake: empty }),
    "what will run": story(FirstRun, {}, { fake: empty, keys: ["1"] }),
    "on its way": story(
      FirstRun,
      {},
      {
        fake: { ...empty, calls: { "servers.add": () => new Promise<never>(() => undefined) } },
        click: ["button >> nth=0", "button[type=submit]"],
      },
    ),
    failed: story(
      FirstRun,
      {},
      {
        fake: {
          ...empty,
          calls: {
            "servers.add": () => {
              throw failed;
            },
          },
        },
        click: ["button >> nth=0", "button[type=submit]"],
      },
    ),
    "no demo here": story(
      FirstRun,
      {},
      {
        fake: {
          ...empty,
          calls: {
            "demo.address": () => {
              throw failed;
            },
          },
        },
        keys: ["1"],
      },
    ),
    stale: story(FirstRun, {}, { fake: { ...empty, connection: "stale" } }),
  },
} satisfies StoryFile;
