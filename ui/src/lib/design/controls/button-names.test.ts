// @vitest-environment jsdom
/* A button that has no words, or the same words as its neighbours, is nothing to whoever hears the page. */
import { createRawSnippet, flushSync, mount, unmount, type ComponentProps } from "svelte";
import { parse } from "svelte/compiler";
import { afterEach, describe, expect, it } from "vitest";
import Button from "./Button.svelte";

const made: Record<string, unknown>[] = [];
afterEach(() => Promise.all(made.splice(0).map((one) => unmount(one))));
function shown(props: ComponentProps<typeof Button>): HTMLElement {
  const target = document.createElement("div");
  made.push(mount(Button, { target, props }));
  flushSync();
  const button = target.querySelector<HTMLElement>(".btn");
  if (button === null) throw new Error("no button");
  return button;
}
const words = createRawSnippet(() => ({ render: () => "<span>Remove</span>" }));

describe("the_label_of_a_button", () => {
  const label = "Remove /media/usb/notes";
  it("is_its_name_and_its_tooltip_at_every_size", () => {
    for (const size of ["control", "compact", "icon"] as const) {
      const button = shown({ size, icon: "cross", label });
      expect(button.textContent.trim(), size).toBe(label);
      expect(button.title, size).toBe(label);
    }
  });
  it("is_its_name_beside_words_too", () => {
    expect(shown({ size: "compact", label, children: words }).getAttribute("aria-label")).toBe(label);
    expect(shown({ size: "compact", label, children: words, href: "#/tasks" }).getAttribute("aria-label")).toBe(label);
  });
  it("is_left_out_where_words_say_enough", () => {
    expect(shown({ children: words }).hasAttribute("aria-label")).toBe(false);
  });
});

interface Node {
  readonly type: string;
  readonly name?: string | { readonly name: string };
  readonly data?: string;
  readonly start: number;
  readonly attributes?: readonly Node[];
  readonly [key: string]: unknown;
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;
const inside = (node: Node): Node[] =>
  Object.values(node).flatMap((value): Node[] =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );

function buttons(node: Node, found: Node[] = []): Node[] {
  if (
    (node.type === "Component" && node.name === "Button") ||
    (node.type === "RegularElement" && node.name === "button")
  )
    found.push(node);
  for (const child of inside(node)) buttons(child, found);
  return found;
}
/** Text, or something that may become text, or a name of its own. An icon is neither. */
function isNamed(button: Node): boolean {
  const given = (button.attributes ?? []).map((one) => (one.type === "Attribute" ? one.name : one.type));
  if (given.some((name) => name === "label" || name === "aria-label" || name === "aria-labelledby")) return true;
  return isText(button["fragment"]);
}
function isText(value: unknown): boolean {
  if (!isNode(value) || value.type === "Attribute") return false;
  if (value.type === "Text") return (value.data ?? "").trim() !== "";
  if (value.type === "ExpressionTag" || value.type === "RenderTag") return true;
  if (value.type === "Component") return value.name !== "Icon";
  if (value.type === "RegularElement" && value.name === "kbd") return false;
  return inside(value).some(isText);
}

const SCREENS = import.meta.glob<string>("/src/**/*.svelte", { query: "?raw", import: "default", eager: true });

const nameless = (file: string, source: string): string[] =>
  buttons(parse(source, { modern: true, filename: file }).fragment as unknown as Node)
    .filter((button) => !isNamed(button))
    .map((button) => `${file}:${source.slice(0, button.start).split("\n").length}`);

describe("every_button_of_every_screen", () => {
  it("has_a_name", () => {
    expect(Object.entries(SCREENS).flatMap(([file, source]) => nameless(file, source))).toEqual([]);
  });
  it("and_one_without_is_found", () => {
    const source = [
      `{#if x}<Button size="icon" icon="cross" title="Close" />{/if}`,
      `<button type="button"><Icon name="cross" /><kbd>x</kbd></button>`,
      `<Button size="icon" icon="cross" label="Close" />`,
      `<button type="button" {onclick}>{words}</button>`,
      `<Popover>{#snippet trigger(props)}<Button extra={props}></Button>{/snippet}</Popover>`,
    ].join("\n");
    expect(nameless("made-up", source)).toEqual(["made-up:1", "made-up:2", "made-up:5"]);
  });
});
