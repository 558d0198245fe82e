/* What a file of stories exports: `export default { title, stories } satisfies StoryFile`. */
import type { Component } from "svelte";
import type { FakeOptions } from "./backend";

export interface Story {
  // A story may show any component; its props are checked where the story is written (see `story`).
  readonly component: Component<Record<string, never>>;
  readonly props: Record<string, unknown>;
  readonly fake?: FakeOptions;
  /** Where the page is: `#/tasks/hdl_…`. */
  readonly hash?: string;
  /** `screen`: as large as the content of the window (default); `piece`: as large as it is, on a panel. */
  readonly as?: "screen" | "piece";
  /** What to press once it stands, before it is looked at: keys as playwright names them. */
  readonly keys?: readonly string[];
  /** What to click first: a selector. */
  readonly click?: readonly string[];
}

export interface StoryFile {
  readonly title: string;
  /** A story of many rows is a function, so that its rows are made only when it is shown. */
  readonly stories: Readonly<Record<string, Story | (() => Story)>>;
}

/** Checks the props against the component and forgets its type. */
export function story<P extends Record<string, unknown>>(
  component: Component<P>,
  props: P,
  more: Omit<Story, "component" | "props"> = {},
): Story {
  return { component: component as unknown as Story["component"], props, ...more };
}

/** Now, in every story. */
export const STORY_NOW = Date.parse("2026-11-21T14:31:36.000Z");
