// The four programs: how each is started offline and quiet, with one server, a tool timeout and a scripted model.
//
// Each gets a home of its own, so that nothing of the person who runs the tests is read or written. Versions are pinned in
// package.json, which names the packages of Linux on x86-64 themselves: those that choose a platform need install scripts
// and all platforms in the registry. Codex and Claude Code begin their first turn without the tools of a server that is
// not connected yet, which a busy machine cannot be blamed for: both are told to wait for it. What the programs do with tools is in `domain::client_profile`; here is only how they are set up.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MODULES = join(import.meta.dirname, 'node_modules');
const PROMPT = 'Do what you think is right.';

/** A file of the installed packages. */
export function installed(...path) {
  const place = join(MODULES, ...path);
  if (!existsSync(place)) throw new Error(`\`${place}\` is missing: run \`cargo xtask peers\` once, it installs it`);
  return place;
}

async function writeJson(place, value) {
  await mkdir(join(place, '..'), { recursive: true });
  await writeFile(place, JSON.stringify(value));
}

const bearer = (way) => ({ Authorization: `Bearer ${way.token}` });

const claude = {
  word: 'claude-code',
  async prepare({ home, model, way, timeoutMs, isSearched }) {
    const server = way.kind === 'http'
      ? { type: 'http', url: way.url, headers: bearer(way) }
      : { type: 'stdio', command: way.command[0], args: way.command.slice(1), env: way.env };
    await writeJson(join(home, 'mcp.json'), { mcpServers: { taskwarden: server } });
    return {
      command: [
        installed('@anthropic-ai/claude-code-linux-x64/claude'), '-p', PROMPT, '--model', 'claude-sonnet-4-5',
        '--mcp-config', join(home, 'mcp.json'), '--strict-mcp-config', '--dangerously-skip-permissions',
        '--output-format', 'stream-json', '--verbose',
      ],
      env: {
        ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-scripted', CLAUDE_CONFIG_DIR: join(home, 'claude'),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', IS_SANDBOX: '1',
        MCP_CONNECTION_NONBLOCKING: '0', MCP_CONNECT_TIMEOUT_MS: '60000',
        ...(timeoutMs ? { MCP_TOOL_TIMEOUT: String(timeoutMs) } : {}),
        ...(isSearched === undefined ? {} : { ENABLE_TOOL_SEARCH: String(isSearched) }),
      },
    };
  },
};

const codex = {
  word: 'codex',
  async prepare({ home, model, way, timeoutMs }) {
    const text = JSON.stringify;
    const table = (pairs) => `{ ${Object.entries(pairs).map(([name, value]) => `${text(name)} = ${text(value)}`).join(', ')} }`;
    const server = way.kind === 'http'
      ? [`url = ${text(way.url)}`, `http_headers = ${table(bearer(way))}`]
      : [`command = ${text(way.command[0])}`, `args = ${text(way.command.slice(1))}`, `env = ${table(way.env)}`];
    const config = [
      'model = "gpt-5.1-codex"', 'model_provider = "scripted"', 'check_for_update_on_startup = false', '',
      '[analytics]', 'enabled = false', '',
      '[model_providers.scripted]', 'name = "scripted"', `base_url = "${model.url}/v1"`, 'wire_api = "responses"',
      'supports_websockets = false', '',
      '[mcp_servers.taskwarden]', ...server, 'required = true', ...(timeoutMs ? [`tool_timeout_sec = ${timeoutMs / 1_000}`] : []), '',
    ];
    await mkdir(join(home, 'codex'), { recursive: true });
    await writeFile(join(home, 'codex/config.toml'), config.join('\n'));
    return {
      command: [
        installed('@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'), 'exec', '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox', '--json', PROMPT,
      ],
      env: { CODEX_HOME: join(home, 'codex'), OPENAI_API_KEY: 'sk-scripted' },
    };
  },
};

const gemini = {
  word: 'gemini-cli',
  async prepare({ home, model, way, timeoutMs }) {
    const server = way.kind === 'http'
      ? { httpUrl: way.url, headers: bearer(way) }
      : { command: way.command[0], args: way.command.slice(1), env: way.env };
    await writeJson(join(home, '.gemini/settings.json'), {
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      mcpServers: { taskwarden: { ...server, trust: true, ...(timeoutMs ? { timeout: timeoutMs } : {}) } },
    });
    return {
      command: [process.execPath, installed('@google/gemini-cli/bundle/gemini.js'), '--yolo', '-m', 'gemini-2.5-flash', '-p', PROMPT],
      env: { GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
    };
  },
};

const opencode = {
  word: 'opencode',
  async prepare({ home, model, way, timeoutMs }) {
    const server = way.kind === 'http'
      ? { type: 'remote', url: way.url, headers: bearer(way), oauth: false }
      : { type: 'local', command: way.command, environment: way.env };
    await writeJson(join(home, 'opencode.json'), {
      autoupdate: false,
      share: 'disabled',
      model: 'anthropic/scripted',
      small_model: 'anthropic/scripted',
      enabled_providers: ['anthropic'],
      provider: {
        anthropic: {
          options: { baseURL: `${model.url}/v1`, apiKey: 'sk-scripted' },
          models: { scripted: { name: 'scripted', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
        },
      },
      mcp: { taskwarden: { ...server, enabled: true, ...(timeoutMs ? { timeout: timeoutMs } : {}) } },
    });
    return {
      command: [installed('opencode-linux-x64/bin/opencode'), 'run', '-m', 'anthropic/scripted', PROMPT],
      env: {
        OPENCODE_CONFIG: join(home, 'opencode.json'), OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      },
    };
  },
};

export const PROGRAMS = [claude, codex, gemini, opencode];
