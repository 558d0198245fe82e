/* What can be chosen to start a task on, found by what is typed. Pure. */
import type { ServerDto, ToolDto } from "$lib/bindings";
import { textMatcher } from "$lib/text-match";

/** Rows drawn; the rest is found by typing. */
export const CHOICES_MAX = 50;

export function canStart(server: ServerDto): boolean {
  return server.agreed && server.health.kind === "up";
}

/** Those that can start something first, then by name. */
export function serversFor(servers: Iterable<ServerDto>, typed: string): readonly ServerDto[] {
  const matches = textMatcher(typed);
  return [...servers]
    .filter((server) => matches(server.name))
    .sort((a, b) => Number(canStart(b)) - Number(canStart(a)) || (a.name < b.name ? -1 : 1));
}

/** By name, title and description; a match in the name comes first. */
export function toolsFor(tools: readonly ToolDto[], typed: string): readonly ToolDto[] {
  const matches = textMatcher(typed);
  const isNamed = (tool: ToolDto) => matches(`${tool.name} ${tool.title ?? ""}`);
  // Of several tools with one name a call reaches the first.
  const callable = tools.filter((tool) => tool.notOffered?.why !== "duplicate");
  const found = callable.filter((tool) => matches(`${tool.name} ${tool.title ?? ""} ${tool.description ?? ""}`));
  return typed.trim() === "" ? found : [...found.filter(isNamed), ...found.filter((tool) => !isNamed(tool))];
}
