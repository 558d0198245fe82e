/* Settings of a made-up core for agent programs: fewer than the real one has, in the same form. */
import type { ReadySettings, SettingsText } from "$lib/bindings";

const json = (value: unknown) => JSON.stringify(value, null, 2);

export function makeSettings(name: string, token: string, url: string | null, saved = false): ReadySettings {
  const Authorization = `Bearer ${token}`;
  const args = ["connect", "--agent", name];
  const http =
    url === null ? null : json({ mcpServers: { taskwarden: { type: "http", url, headers: { Authorization } } } });
  const env = saved ? {} : { env: { TASKWARDEN_TOKEN: token } };
  const stdio = json({ mcpServers: { taskwarden: { command: "taskwarden", args, ...env } } });
  const command = `/usr/bin/taskwarden ${args.join(" ")}`;
  const text = (transport: SettingsText["transport"], file: string | null, whole: string | null): SettingsText[] =>
    whole === null ? [] : [{ transport, place: "file", file, text: whole }];
  const line = (transport: SettingsText["transport"], whole: string): SettingsText => ({
    transport,
    place: "terminal",
    file: null,
    text: whole,
  });
  const add = "read -rs TASKWARDEN_TOKEN && claude mcp add --transport http taskwarden";
  const typed =
    "The line for a terminal (bash or zsh) waits for the token: paste it and press Enter. That keeps it out of the history of your shell.";
  return {
    http,
    stdio,
    claude:
      url === null
        ? null
        : `claude mcp add --transport http taskwarden ${url} --scope user --header "Authorization: ${Authorization}"`,
    programs: [
      {
        program: "claude-code",
        label: "Claude Code",
        check: "claude mcp list",
        notes: [typed],
        texts: [
          ...(url === null
            ? []
            : [line("http", `${add} ${url} --scope user --header "Authorization: Bearer $TASKWARDEN_TOKEN"`)]),
          ...text("http", "~/.claude.json", http),
          ...(saved ? [line("stdio", `claude mcp add --scope user taskwarden -- ${command}`)] : []),
          ...text("stdio", "~/.claude.json", stdio),
        ],
      },
      {
        program: "codex",
        label: "Codex",
        check: "codex mcp list",
        notes: ["`codex mcp list` shows the settings; `/mcp` in Codex shows whether it is connected."],
        texts: [
          ...text(
            "http",
            "~/.codex/config.toml",
            url === null
              ? null
              : `[mcp_servers.taskwarden]\nurl = "${url}"\nhttp_headers = { Authorization = "${Authorization}" }`,
          ),
          ...(saved ? [line("stdio", `codex mcp add taskwarden -- ${command}`)] : []),
        ],
      },
      {
        program: "cursor",
        label: "Cursor",
        check: null,
        notes: ["`.cursor/mcp.json` in a project holds for that project alone."],
        texts: text("stdio", "~/.cursor/mcp.json", stdio),
      },
      {
        program: "gemini-cli",
        label: "Gemini CLI",
        check: "gemini mcp list",
        notes: [],
        texts: [...text("http", "~/.gemini/settings.json", http), ...text("stdio", "~/.gemini/settings.json", stdio)],
      },
      {
        program: "opencode",
        label: "opencode",
        check: "opencode mcp list",
        notes: [],
        texts: text(
          "stdio",
          "~/.config/opencode/opencode.json",
          json({
            mcp: {
              taskwarden: {
                type: "local",
                command: ["taskwarden", ...args],
                ...(saved ? {} : { environment: { TASKWARDEN_TOKEN: token } }),
              },
            },
          }),
        ),
      },
      {
        program: "other",
        label: "Other programs",
        check: null,
        notes: [],
        texts: [...text("http", null, http), ...text("stdio", null, stdio)],
      },
    ],
  };
}
