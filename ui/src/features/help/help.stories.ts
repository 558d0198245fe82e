import { story, type StoryFile } from "$lib/fake-core/story";
import Help from "./Help.svelte";

export default {
  title: "help",
  stories: {
    words: story(Help, {}),
    "a page of the documentation": story(Help, {}, { click: ["text=Troubleshooting"] }),
    "a page with a wide table": story(Help, {}, { click: ["text=Agent programs"] }),
  },
} satisfies StoryFile;
