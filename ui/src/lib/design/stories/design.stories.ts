import { story, type StoryFile } from "$lib/fake-core/story";
import Gallery from "./Gallery.example.svelte";
import ListExample from "./List.example.svelte";

export default {
  title: "design",
  stories: {
    controls: story(Gallery, {}, { as: "piece" }),
    "menu open": story(Gallery, {}, { as: "piece", click: ["[aria-haspopup=menu]"] }),
    "popover open": story(Gallery, {}, { as: "piece", click: ["[data-example=popover] button"] }),
    "a word explained": story(Gallery, {}, { as: "piece", click: ["[data-example=term] button"] }),
    "dialog open": story(Gallery, {}, { as: "piece", click: ["[data-example=dialog] button"] }),
    "list of 0": story(ListExample, { count: 0 }),
    "list of 30": story(ListExample, { count: 30 }),
    "list of 100,000": story(ListExample, { count: 100_000 }, { click: ["[role=row][data-at='2']"], keys: ["End"] }),
    "list that loads": story(ListExample, { count: 30, loaded: false }),
    "list that is stale": story(ListExample, { count: 30, stale: true }),
  },
} satisfies StoryFile;
