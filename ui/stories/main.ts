/* The story page: `?story=TITLE/NAME&theme=dark` shows one, without it there is a list. Time stands still. */
import { mount } from "svelte";
import { clock } from "$lib/clock.svelte";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import { STORY_NOW, type Story, type StoryFile } from "$lib/fake-core/story";
import List from "./List.svelte";
import Stage from "./Stage.svelte";

const files = import.meta.glob<StoryFile>("../src/**/*.stories.ts", { eager: true, import: "default" });
const stories = new Map<string, Story | (() => Story)>();
const made = (story: Story | (() => Story)) => (typeof story === "function" ? story() : story);
for (const file of Object.values(files)) {
  for (const [name, story] of Object.entries(file.stories)) stories.set(`${file.title}/${name}`, story);
}

const query = new URLSearchParams(location.search);
const theme = query.get("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
clock.freeze(STORY_NOW);

const target = document.getElementById("app");
const found = stories.get(query.get("story") ?? "");
const wanted = found && made(found);
if (target && wanted) {
  if (wanted.hash !== undefined) history.replaceState(null, "", wanted.hash);
  mount(Stage, { target, props: { story: wanted } });
} else if (target) {
  mount(List, { target, props: { names: [...stories.keys()].sort() } });
}

declare global {
  interface Window {
    stories: { name: string; keys: readonly string[]; click: readonly string[]; as: string }[];
  }
}
if (!wanted) {
  window.stories = [...stories].map(([name, story]) => {
    const { keys = [], click = [], as = "screen" } = made(story);
    return { name, keys, click, as };
  });
}
