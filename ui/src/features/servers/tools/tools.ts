/* Tools of one server, found by what is typed. Pure. All their words are the server's. */
import type { ChangedTool, ToolDto } from "$lib/bindings";
import { toolTableText } from "$lib/text/servers/tool-table";
import { textMatcher } from "$lib/text-match";

/** Tools drawn before the rest is asked for. */
export const TOOLS_STEP = 50;

export function matchingTools(tools: readonly ToolDto[], typed: string): readonly ToolDto[] {
  const matches = textMatcher(typed);
  return tools.filter((tool) => matches(`${tool.name} ${tool.title ?? ""} ${tool.description ?? ""}`));
}

/** How many of them agents are not offered. */
export function notOffered(tools: readonly ToolDto[]): number {
  return tools.filter((tool) => tool.notOffered !== undefined).length;
}

/** What a tool is called: its title, or its name; of one that is not offered with hidden characters spelled out. */
export function toolTitle(tool: ToolDto): string {
  return tool.notOffered?.escapedName ?? tool.title ?? tool.name;
}

export interface ToolState {
  /** How it changed since a person last looked. */
  readonly change: "added" | "changed" | null;
  /** What is said quietly: unchanged, where that is known, and read-only. */
  readonly words: readonly string[];
}

/** What of a tool is said in its row; `changed` is null where what changed is not known. */
export function toolState(tool: ToolDto, changed: readonly ChangedTool[] | null): ToolState {
  const change = changed?.find((one) => one.name === tool.name)?.change ?? null;
  const isSame = changed !== null && change === null;
  return {
    change: change === "removed" ? null : change,
    words: [
      ...(isSame ? [toolTableText.unchanged] : []),
      ...(tool.readOnly === true && tool.destructive !== true ? [toolTableText.readOnly] : []),
    ],
  };
}

/** How many tools changed in which way. */
export function changeCounts(tools: readonly ChangedTool[]): Readonly<Record<ChangedTool["change"], number>> {
  const counts = { added: 0, removed: 0, changed: 0 };
  for (const { change } of tools) counts[change] += 1;
  return counts;
}

/** Whether calls of it become tasks of the server's own. */
export function isTaskTool(tool: ToolDto): boolean {
  return tool.taskSupport === "required" || tool.taskSupport === "optional" || tool.taskSupport === "server decides";
}

/** Whether there is anything to fill in. */
export function hasArguments(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null) return true;
  if ("properties" in schema && typeof schema.properties === "object" && schema.properties !== null)
    return Object.keys(schema.properties).length > 0;
  // An object without properties takes whatever is sent, unless it says that it does not.
  return !("additionalProperties" in schema && schema.additionalProperties === false);
}
