import { story, type StoryFile } from "$lib/story";
import Settings from "./Settings.svelte";

export default {
  title: "settings",
  stories: {
    "in a browser": story(Settings, {}),
    "in the window": story(Settings, {}, { fake: { kind: "window" } }),
    "quiet and paused": story(Settings, {}, { fake: { settings: { quietFrom: "22:00", quietTo: "07:00", pausedUntil: "2026-11-21T15:31:00.000Z" } } }),
    "no notification service, secrets in a file": story(Settings, {}, { fake: { core: { notifications: "none", secretsInFile: true, registryFindings: ["one row of the change log is missing; a copy was kept"] } } }),
    "switched off in the file": story(Settings, {}, { fake: { core: { notifications: "off" } } }),
    loading: story(Settings, {}, { fake: { connection: "connecting" } }),
    stale: story(Settings, {}, { fake: { connection: "stale" } }),
  },
} satisfies StoryFile;
