// Taskwarden as an OAuth client of the conformance runner: `node sign-in.mjs PROGRAM SERVER-URL`.
//
// A core with a data folder of its own is started, a person adds the server, signs in in a browser that is played here, and
// calls the first tool. When the server asks for another permission, the person signs in again, at most twice. The runner
// judges what its own servers saw; the exit code says whether the tool answered.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, url] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const home = mkdtempSync(join(tmpdir(), "sign-in-"));
const data = join(home, "data");
const environment = {
  ...process.env,
  NO_COLOR: "1",
  TASKWARDEN_HOME: data,
  TASKWARDEN_LISTEN: "off",
  TASKWARDEN_NOTIFICATIONS: "false",
  TASKWARDEN_SECRETS: "file",
  TASKWARDEN_CLIENT_SECRET: context.client_secret ?? "",
  // A refused token counts as old at once, and what failed is tried again soon.
  TASKWARDEN_POLICY_BACKOFF_LAST: "2s",
  TASKWARDEN_POLICY_SIGN_IN_RENEW_REST: "0ms",
};
delete environment.DISPLAY;
delete environment.WAYLAND_DISPLAY;
delete environment.DBUS_SESSION_BUS_ADDRESS;
mkdirSync(data, { mode: 0o700 });
// The document that the runner wants to see as the client where an issuer takes one.
writeFileSync(join(data, "config.toml"), 'client_document = "https://conformance-test.local/client-metadata.json"\n');

/** Times that a person signs in: the first, and twice for permissions that are missing (setup.md §3.3). */
const SIGN_INS = 3;

function start(...words) {
  const child = spawn(program, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  child.out = "";
  child.err = "";
  child.stdout.on("data", (bytes) => (child.out += bytes));
  child.stderr.on("data", (bytes) => (child.err += bytes));
  child.ended = new Promise((resolve) => child.on("close", (code) => resolve(code ?? -1)));
  return child;
}

async function run(...words) {
  const child = start(...words);
  const code = await child.ended;
  console.error(`${words.slice(0, 2).join(" ")}: ${code} ${child.err.trim()}`);
  return { code, out: child.out, err: child.err };
}

async function until(what, test) {
  const over = Date.now() + 20_000;
  for (;;) {
    if (await test()) return;
    if (Date.now() > over) throw new Error(`waited too long until ${what}`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** Follows the pages of a browser to the address on this machine, and opens that, too. */
async function browse(address) {
  let next = address;
  for (let page = 0; page < 10; page += 1) {
    const answer = await fetch(next, { redirect: "manual" });
    const to = answer.headers.get("location");
    if (!to) return answer.status;
    next = new URL(to, next).href;
  }
  throw new Error("the pages to sign in lead in a circle");
}

/** Whether a person got in. */
async function signIn() {
  const own = context.client_id ? ["--client-id", context.client_id] : [];
  if (context.client_secret) own.push("--client-secret");
  const command = start("servers", "sign-in", "hosted", "--json", "--no-browser", ...own);
  let isOver = false;
  void command.ended.then(() => (isOver = true));
  await until("there is an address", () => isOver || command.out.includes("\n"));
  if (!isOver) {
    const { address } = JSON.parse(command.out.split("\n")[0]);
    const status = await browse(address);
    console.error(`the browser ended with ${status}`);
    if (status !== 200 && status !== 400) command.kill("SIGINT");
    // What is not ours changes nothing, so the command would wait on.
    setTimeout(() => command.kill("SIGINT"), 5_000).unref();
  }
  const code = await command.ended;
  console.error(`sign-in: ${code} ${command.err.trim()}`);
  return code === 0;
}

async function callsATool() {
  const listed = await run("servers", "tools", "hosted", "--json");
  if (listed.code !== 0) return false;
  const tools = JSON.parse(listed.out).tools ?? [];
  if (tools.length === 0) return true;
  const called = await run("call", "hosted", tools[0].name, "--args", "{}", "--wait", "--json");
  return called.code === 0;
}

const core = start("serve");
let isDone = false;
try {
  await until("the core answers", async () => (await run("servers", "list", "--json")).code === 0);
  await run("servers", "add", "hosted", "--yes", "--url", url);
  for (let time = 0; time < SIGN_INS && !isDone; time += 1) {
    if (!(await signIn())) break;
    isDone = await callsATool();
  }
} finally {
  core.kill("SIGTERM");
  await core.ended;
  if (process.env.SIGN_IN_LOG) console.error(core.err);
  rmSync(home, { recursive: true, force: true });
}
process.exitCode = isDone ? 0 : 1;
