/* What can be chosen to start a task on, found by what is typed. Pure. */
import type { ServerDto, ToolDto } from "$lib/bindings";

/** Rows drawn; the rest is found by typing. */
export const CHOICES_MAX = 50;

function words(typed: string): readonly string[] {
  return typed
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

export function canStart(server: ServerDto): boolean {
  return server.agreed && server.health.kind === "up";
}

/** Those that can start something first, then by name. */
export function serversFor(servers: Iterable<ServerDto>, typed: string): readonly ServerDto[] {
  const wanted = words(typed);
  return [...servers]
    .filter((server) => wanted.every((word) => server.name.toLowerCase().includes(word)))
    .sort((a, b) => Number(canStart(b)) - Number(canStart(a)) || (a.name < b.name ? -1 : 1));
}

/** By name, title and description; a match in the name comes first. */
export function toolsFor(tools: readonly ToolDto[], typed: string): readonly ToolDto[] {
  const wanted = words(typed);
  if (wanted.length === 0) return tools;
  const named = (tool: ToolDto) =>
    wanted.every((word) => `${tool.name} ${tool.title ?? ""}`.toLowerCase().includes(word));
  const found = tools.filter((tool) =>
    wanted.every((word) => `${tool.name} ${tool.title ?? ""} ${tool.description ?? ""}`.toLowerCase().includes(word)),
  );
  return [...found.filter(named), ...found.filter((tool) => !named(tool))];
}
