/* What a made-up core answers about agent programs and the servers in their files. */
import type { AddressDto, AgentClient, ClientFileEdit, ClientServer } from "$lib/bindings";
import type { Answers } from "../calls";
import type { CoreState } from "../core-state";
import { makeServer } from "../entities";

const stdio = (command: string, args: string[], secretEnv: string[] = []): AddressDto => ({
  kind: "stdio",
  command,
  args,
  env: {},
  secretEnv,
  cwd: null,
});

export function aClientServer(name: string, change: Partial<ClientServer> = {}): ClientServer {
  return {
    name,
    place: ["mcpServers", name],
    folder: null,
    disabled: false,
    state: "new",
    why: null,
    server: name,
    address: stdio("npx", ["-y", `@acme/${name}-mcp`]),
    fingerprint: `fp-${name}`,
    variables: [],
    alsoIn: [],
    ...change,
  };
}

/** Two programs, each with a server that can be imported, and everything that can be wrong with one. */
export const CLIENTS: readonly AgentClient[] = [
  {
    client: "claude-code",
    label: "Claude Code",
    files: [
      {
        path: "/home/ada/.claude.json",
        scope: "user",
        problem: null,
        drift: [],
        servers: [
          aClientServer("files", { alsoIn: ["cursor"] }),
          aClientServer("issues", {
            address: { kind: "http", url: "https://issues.example/mcp", secretHeaders: ["Authorization"] },
            variables: [{ name: "ISSUES_TOKEN", environment: true, secret: true, default: null }],
          }),
          aClientServer("docs", { state: "known" }),
          aClientServer("broken", {
            state: "unresolved",
            why: "the program `acme-broken` was not found in the search path of the core",
            address: null,
            fingerprint: null,
            server: null,
          }),
        ],
      },
    ],
  },
  {
    client: "cursor",
    label: "Cursor",
    files: [
      {
        path: "/home/ada/.cursor/mcp.json",
        scope: "user",
        problem: null,
        drift: [],
        servers: [
          aClientServer("files", { alsoIn: ["claude-code"] }),
          aClientServer("metrics", {
            disabled: true,
            address: stdio("npx", ["-y", "@acme/metrics-mcp", "--api-key", "q7Gz0pXw93"]),
          }),
        ],
      },
      {
        path: "/home/ada/work/.cursor/mcp.json",
        scope: "project",
        problem: "line 4, column 3: a key stands twice",
        drift: [],
        servers: [],
      },
    ],
  },
];

/** An edit of one entry; carried out once it was agreed to. */
function anEdit(agreed: readonly string[] = []): ClientFileEdit {
  const isDone = agreed.includes("fp-edit");
  return {
    path: "/home/ada/.claude.json",
    scope: "user",
    state: isDone ? "done" : "shown",
    problem: null,
    fingerprint: isDone ? null : "fp-edit",
    lines: [
      {
        line: 7,
        removed: ['      "command": "npx",', '      "args": ["-y", "@acme/docs-mcp", "--api-key", "q7Gz0pXw93"]'],
        added: [
          '      "command": "/usr/bin/taskwarden",',
          '      "args": ["connect", "docs", "--agent", "claude-code"]',
        ],
      },
    ],
    kept: [],
    backup: isDone ? "/home/ada/.local/share/taskwarden/backups/clients/1.json" : null,
    restore: isDone ? "cp /home/ada/.local/share/taskwarden/backups/clients/1.json /home/ada/.claude.json" : null,
    exchanged: true,
  };
}

export function clientCalls(
  state: CoreState,
): Pick<Answers, "clients.list" | "clients.import" | "clients.route" | "clients.undo"> {
  const known = (entry: ClientServer): ClientServer =>
    entry.state === "new" && entry.server !== null && state.servers.has(entry.server)
      ? { ...entry, state: "known" }
      : entry;
  return {
    "clients.list": () => ({
      clients: CLIENTS.map((client) => ({
        ...client,
        files: client.files.map((file) => ({ ...file, servers: file.servers.map(known) })),
      })),
    }),
    "clients.route": ({ client, agreed }) => ({
      client,
      agent: client,
      addsAgent: true,
      files: [anEdit(agreed)],
      leftOut: [{ name: "broken", why: "it was not imported" }],
    }),
    "clients.undo": ({ client, agreed }) => ({ client, files: [anEdit(agreed)] }),
    "clients.import": ({ picks }) => ({
      servers: picks.map(({ place }) => {
        const name = place.at(-1) ?? "";
        if (state.servers.has(name)) return { name, state: "known", server: name, why: null };
        const made = makeServer(name, state.servers.size, state.now());
        state.servers.set(name, made);
        state.send({ servers: [made] });
        return { name, state: "added", server: name, why: null };
      }),
    }),
  };
}
