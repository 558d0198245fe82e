// A new user's first minutes: six servers among four real agent programs are imported, each program is routed, calls one
// tool through Taskwarden and lists its servers under their names, and every file is taken back.
//
// `node set-up.mjs`; prints a line for each program, and ends with 1 at the first promise that does not hold. The programs
// use the files that they use by themselves, below a home folder of this run, and a scripted model.
import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Core, PROGRAM } from '../e2e/core.mjs';
import { Lab } from './lab.mjs';
import { END, ScriptedModel, call } from './model/model.mjs';
import { installed } from './programs.mjs';
import { must, told, until } from './stage.mjs';

const PEER = process.env.TASKWARDEN_RMCP_PEER ?? resolve(import.meta.dirname, '../../target/debug/rmcp-peer');
/** A value that may be in the files of programs and in the vault, and nowhere else. */
const CANARY = 'canary-5d20';
/** From the first look to a supervised call (setup.md, section 8). */
const FIRST_CALL_MS = 120_000;
const SERVERS = ['archive', 'depot', 'hives', 'lab', 'notes', 'post'];

const run = promisify(execFile);
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const demo = (name) => ({ command: PROGRAM, args: ['demo-server'], env: { [name]: CANARY } });

/** The four programs: their file, the settings that are their own, and how each begins a turn without asking. */
const PROGRAMS = [
  {
    word: 'claude-code',
    file: '.claude.json',
    rewrites: true,
    async write({ home, lab, environment }) {
      const claude = installed('@anthropic-ai/claude-code-linux-x64/claude');
      const add = (...args) => run(claude, ['mcp', 'add', '--scope', 'user', ...args], { env: environment, cwd: join(home, 'work') });
      await add('--transport', 'http', 'lab', lab.url);
      await add('hives', '-e', `API_KEY=${CANARY}`, '--', PROGRAM, 'demo-server');
      await put(join(home, '.claude/settings.json'), json({ permissions: { allow: ['mcp__lab__*'] } }));
    },
    list: [installed('@anthropic-ai/claude-code-linux-x64/claude'), 'mcp', 'list'],
    listed: [/lab: .*Connected/, /hives: .*Connected/],
    // Nothing here allows a tool: the list in its settings does, and names the server as it was before.
    start: (model) => ({
      command: [installed('@anthropic-ai/claude-code-linux-x64/claude'), '-p', 'Add.', '--model', 'claude-sonnet-4-5'],
      env: {
        ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-scripted', ENABLE_TOOL_SEARCH: 'false',
        MCP_CONNECTION_NONBLOCKING: '0', MCP_CONNECT_TIMEOUT_MS: '60000',
      },
    }),
  },
  {
    word: 'codex',
    file: '.codex/config.toml',
    write: ({ home, lab, model }) => put(join(home, '.codex/config.toml'), [
      'model = "gpt-5.1-codex" # the usual one', 'model_provider = "scripted"', 'check_for_update_on_startup = false', '',
      '[analytics]', 'enabled = false', '',
      '[model_providers.scripted]', 'name = "scripted"', `base_url = "${model.url}/v1"`, 'wire_api = "responses"',
      'supports_websockets = false', '',
      '# Adds numbers.', '[mcp_servers.lab]', `url = "${lab.url}"`, 'enabled_tools = ["sum"]', 'required = true', '',
      '[mcp_servers.depot]', `command = "${PROGRAM}"`, 'args = [ "demo-server" ]', `env = { "DEPOT_KEY" = "${CANARY}" }`, '',
    ].join('\n')),
    // It reads its file only, and connects to nothing.
    list: [installed('@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'), 'mcp', 'list'],
    listed: [/lab .*connect lab .*enabled/, /depot .*connect depot .*enabled/],
    start: () => ({
      command: [
        installed('@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex'), 'exec', '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox', 'Add.',
      ],
      env: { OPENAI_API_KEY: 'sk-scripted' },
    }),
  },
  {
    word: 'gemini-cli',
    file: '.gemini/settings.json',
    write: ({ home, archive }) => put(join(home, '.gemini/settings.json'), json({
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
      mcpServers: {
        archive: { httpUrl: archive.url, headers: { 'X-Key': CANARY }, trust: true, includeTools: ['sum'] },
        hives: { ...demo('API_KEY'), trust: true },
      },
    })),
    list: [process.execPath, installed('@google/gemini-cli/bundle/gemini.js'), 'mcp', 'list'],
    listed: [/archive: .*Connected/, /hives: .*Connected/],
    start: (model) => ({
      command: [process.execPath, installed('@google/gemini-cli/bundle/gemini.js'), '--yolo', '-m', 'gemini-2.5-flash', '-p', 'Add.'],
      env: { GEMINI_API_KEY: 'scripted', GOOGLE_GEMINI_BASE_URL: model.url, GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: 'true' },
    }),
  },
  {
    word: 'opencode',
    // Its server has a `slow_sum`, too.
    tool: 'notes_sum',
    file: '.config/opencode/opencode.json',
    write: ({ home, model }) => put(join(home, '.config/opencode/opencode.json'), `{
  // The program adds the next line by itself where it is missing.
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false,
  "share": "disabled",
  "model": "anthropic/scripted",
  "small_model": "anthropic/scripted",
  "enabled_providers": ["anthropic"],
  "provider": {
    "anthropic": {
      "options": { "baseURL": "${model.url}/v1", "apiKey": "sk-scripted" },
      "models": { "scripted": { "name": "scripted", "tool_call": true, "limit": { "context": 200000, "output": 8000 } } },
    },
  },
  "mcp": {
    "notes": { "type": "local", "command": ["${PEER}", "stdio"], "enabled": true, "timeout": 30000 },
    "post": { "type": "local", "command": ["${PROGRAM}", "demo-server"], "environment": { "POST_KEY": "${CANARY}" } },
  },
}
`),
    list: [installed('opencode-linux-x64/bin/opencode'), 'mcp', 'list'],
    listed: [/notes.*connected/, /post.*connected/],
    start: () => ({
      command: [installed('opencode-linux-x64/bin/opencode'), 'run', '-m', 'anthropic/scripted', 'Add.'],
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      },
    }),
  },
];

async function put(place, text) {
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, text);
}

/** The user, their programs, their servers and a core that knows nothing yet. */
class User {
  #groups = [];
  models = {};

  static async arrive() {
    const user = new User();
    user.home = await mkdtemp(join(tmpdir(), 'taskwarden-set-up-'));
    await mkdir(join(user.home, 'work'), { recursive: true });
    [user.lab, user.archive] = [await new Lab().start(), await new Lab().start()];
    user.core = await Core.create();
    // A core that a bridge starts must leave the product's port alone.
    await writeFile(join(user.core.home, 'config.toml'), 'listen = "off"\n');
    user.core.person = { HOME: user.home, XDG_CONFIG_HOME: '', CODEX_HOME: '', CLAUDE_CONFIG_DIR: '' };
    for (const program of PROGRAMS) {
      const model = await new ScriptedModel([call(program.tool ?? 'sum', { a: 40, b: 2 })]).start();
      user.models[program.word] = model;
      const { home, lab, archive, environment } = user;
      await program.write({ home, lab, archive, model, environment });
    }
    await user.core.start();
    return user;
  }

  /** Of the machine's environment, what a program cannot do without. */
  get environment() {
    return {
      PATH: [dirname(process.execPath), process.env.PATH].join(':'), LANG: process.env.LANG ?? 'C.UTF-8', HOME: this.home,
      NO_COLOR: '1', NO_PROXY: '127.0.0.1,localhost', no_proxy: '127.0.0.1,localhost', DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    };
  }

  read(program) {
    return readFile(join(this.home, program.file), 'utf8');
  }

  clients(...args) {
    return this.core.command('clients', ...args);
  }

  /** Runs a program until its model has read the result of its one call. */
  async runs(program) {
    const model = this.models[program.word];
    const { command, env } = program.start(model);
    const child = spawn(command[0], command.slice(1), {
      env: { ...this.environment, ...env }, cwd: join(this.home, 'work'), detached: true, stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#groups.push(child.pid);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output = (output + chunk).slice(-2_000)));
    const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
    const late = new Promise((resolve) => setTimeout(resolve, FIRST_CALL_MS, 'late').unref());
    const end = await Promise.race([ended, late]);
    must(end !== 'late' && model.isDone, `${program.word} says "${END}" (${end}): ${told(model)}\n${output}`);
    must(model.faults.length === 0, model.faults.join('\n'));
    const [result] = model.results;
    must(/\b42\b/.test(result.text) && !result.isError, `${program.word}: the model reads the sum: ${told(model)}\n${output}`);
  }

  /** What a program says of its servers, which it reaches through Taskwarden by now. */
  async lists(program) {
    const { env } = program.start(this.models[program.word]);
    const [command, ...args] = program.list;
    const { stdout, stderr } = await run(command, args, { env: { ...this.environment, ...env }, cwd: join(this.home, 'work') });
    const said = `${stdout}${stderr}`;
    for (const server of program.listed) must(server.test(said), `${program.word} lists ${server}: ${said}`);
  }

  async leave() {
    for (const pid of this.#groups) {
      try {
        process.kill(-pid, 'SIGKILL');
      } catch {
        // It ended by itself.
      }
    }
    await this.core.remove();
    for (const model of Object.values(this.models)) await model.stop();
    await Promise.all([this.lab.end(), this.archive.end()]);
    await rm(this.home, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The entries of Claude Code's file, which are ours to take back; everything else in it is its own. */
const entriesOf = (text) => JSON.stringify(JSON.parse(text).mcpServers);

async function plays(user) {
  const begun = Date.now();
  const { clients } = await user.clients('list');
  const found = clients.filter(({ files }) => files.some(({ servers }) => servers.length > 0)).map(({ client }) => client);
  for (const { word } of PROGRAMS) must(found.includes(word), `${word} is found: ${found}`);
  const imported = await user.clients('import', '--yes');
  const names = imported.servers.map(({ server }) => server).sort();
  must(String(names) === String(SERVERS), `six servers are imported, each once: ${names}`);
  const imports = Date.now() - begun;

  const originals = new Map();
  for (const program of PROGRAMS) {
    const from = Date.now();
    const original = await user.read(program);
    originals.set(program.word, original);
    await user.clients('route', program.word, '--yes');
    const routed = await user.read(program);
    must(routed !== original && routed.includes('connect') && !routed.includes(CANARY), `${program.word} is routed: ${routed}`);
    await user.clients('undo', program.word, '--yes');
    must((await user.read(program)) === original, `${program.word} is taken back byte for byte`);
    await user.clients('route', program.word, '--yes');
    await user.runs(program);
    const took = imports + Date.now() - from;
    must(took < FIRST_CALL_MS, `the first call of ${program.word} is there within two minutes: ${took} ms`);
    await user.lists(program);
    let rows = [];
    await until(() => `the call of ${program.word} is on record as its own: ${JSON.stringify(rows)}`, async () => {
      ({ rows } = await user.core.command('audit', 'calls', '--agent', program.word));
      return rows.some(({ tool }) => tool === 'sum');
    });
    console.log(`ok     ${program.word} (${Math.round(took / 100) / 10} s from the first look to a supervised call)`);
  }
  for (const program of PROGRAMS) {
    await user.clients('undo', program.word, '--yes');
    const [now, original] = [await user.read(program), originals.get(program.word)];
    if (program.rewrites) must(entriesOf(now) === entriesOf(original), `the entries of ${program.word} are as before: ${now}`);
    else must(now === original, `${program.word} is taken back byte for byte after it ran:\n${now}\n---\n${original}`);
  }
  const after = await user.clients('list');
  const routed = after.clients.flatMap(({ files }) => files.flatMap(({ servers }) => servers)).filter(({ state }) => state === 'routed');
  must(routed.length === 0, `nothing is routed any more: ${JSON.stringify(routed)}`);
}

const user = await User.arrive();
try {
  await plays(user);
} catch (error) {
  console.error(error.stack ?? error);
  process.exitCode = 1;
} finally {
  await user.leave();
}
