/* The story page: `?story=TITLE/NAME&theme=dark` shows one, without it there is a list. Time stands still.
   `showStory` puts another in its place, for a script that looks at many: loading the page anew takes most of the time. */
import { mount, unmount } from "svelte";
import { clock } from "$lib/clock.svelte";
import { timeStyle } from "$lib/format/time-style.svelte";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import { STORY_NOW, type Story, type StoryFile } from "$lib/fake-core/story";
import { route } from "$lib/route.svelte";
import List from "./List.svelte";
import Stage from "./Stage.svelte";

const files = import.meta.glob<StoryFile>("../src/**/*.stories.ts", { eager: true, import: "default" });
const stories = new Map<string, Story | (() => Story)>();
const made = (story: Story | (() => Story)) => (typeof story === "function" ? story() : story);
for (const file of Object.values(files)) {
  for (const [name, story] of Object.entries(file.stories)) stories.set(`${file.title}/${name}`, story);
}

const target = document.getElementById("app");
const root = document.documentElement;
let shown: Record<string, unknown> | null = null;
clock.freeze(STORY_NOW);

/** Shows a story as if the page had just been loaded; of what a page keeps in itself, the address, the style of times and
    the theme are as at the start. */
async function showStory(name: string, theme: string | null): Promise<void> {
  const story = stories.get(name);
  if (!target || !story) throw new Error(`there is no story ${name}`);
  if (shown) await unmount(shown);
  localStorage.clear();
  timeStyle.set({ hours: "24", past: "ago" });
  // Read once without a place, as a page that is loaded begins: a story is told its place when it stands.
  history.replaceState(null, "", "#");
  route.start()();
  delete root.dataset.theme;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  const wanted = made(story);
  if (wanted.hash !== undefined) history.replaceState(null, "", wanted.hash);
  shown = mount(Stage, { target, props: { story: wanted } });
}

declare global {
  interface Window {
    stories: { name: string; keys: readonly string[]; click: readonly string[]; as: string }[];
    showStory: typeof showStory;
  }
}
window.showStory = showStory;

const query = new URLSearchParams(location.search);
const name = query.get("story") ?? "";
if (stories.has(name)) void showStory(name, query.get("theme"));
else if (target) {
  shown = mount(List, { target, props: { names: [...stories.keys()].sort() } });
  window.stories = [...stories].map(([name, story]) => {
    const { keys = [], click = [], as = "screen" } = made(story);
    return { name, keys, click, as };
  });
}
