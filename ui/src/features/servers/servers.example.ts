/* A server for tests and stories. Not part of the product. */
import type { ServerDto } from "$lib/bindings";
import { NO_FIGURES } from "$lib/fake-core/query";

export function aServer(name: string, change: Partial<ServerDto> = {}): ServerDto {
  return {
    name,
    id: `srv_${name}`,
    address: {
      kind: "stdio",
      command: "npx",
      args: ["-y", `@northwind/${name}-mcp@1.0.0`],
      env: {},
      secretEnv: [],
      cwd: null,
    },
    era: "modern",
    dialect: "2026-07-28",
    protocolVersion: "2026-07-28",
    serverName: name,
    serverVersion: "1.0.0",
    canList: false,
    canCancel: true,
    health: { kind: "up", since: "2026-11-21T11:40:00.000Z", why: null, hint: null, retryAt: null },
    agreed: true,
    agreedBy: "mara",
    agreedAt: "2026-11-20T09:00:00.000Z",
    openTasks: 0,
    figures: { ...NO_FIGURES, all: change.openTasks ?? 0, open: change.openTasks ?? 0 },
    createdAt: "2026-11-20T09:00:00.000Z",
    stderrTail: "",
    pushes: true,
    toolCount: 6,
    cancels: { asked: 0, stopped: 0, finishedAnyway: 0, refused: 0, noReply: 0, medianMs: null },
    refusedQuestions: null,
    signIn: null,
    ...change,
  };
}
