/* The whole app on made-up data: `fake.html?tasks=28&inbox=7&servers=6&audit=18204&changes=0&connection=live&theme=dark`.
   For looking and for journeys without a core; never part of the product. */
import { mount } from "svelte";
import App from "../src/App.svelte";
import { fake, type FakeOptions } from "$lib/fake-core/backend";
import { AGENTS, INBOX, SERVERS, TASKS } from "$lib/fake-core/core-state";
import { DISK_FULL } from "$lib/fake-core/storage";
import { clock } from "$lib/clock.svelte";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import { makeAgents, makeServers } from "$lib/fake-core/entities";
import { aPause } from "$lib/pause/pause.example";
import { STORY_NOW } from "$lib/fake-core/story";

const query = new URLSearchParams(location.search);
const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise);
const connection =
  (["live", "connecting", "lost", "stale"] as const).find((one) => one === query.get("connection")) ?? "live";
const theme = (["light", "dark"] as const).find((one) => one === query.get("theme")) ?? "system";
const options: FakeOptions = {
  tasks: number("tasks", TASKS),
  inbox: number("inbox", INBOX),
  servers: number("servers", SERVERS),
  agents: number("agents", AGENTS),
  audit: number("audit", 18_204),
  ...(query.get("disk") === "full" ? { recording: DISK_FULL } : {}),
  changesPerSecond: number("changes", 0),
  connection,
  settings: { theme },
  core: { secretsInFile: query.has("file"), notifications: query.has("mute") ? "none" : "desktop" },
};
if (query.has("halt")) options.halt = ["confirmed", "notConfirmed", "acknowledged", "confirmed", "requested"];
if (query.has("pause")) {
  options.agents = makeAgents(number("agents", AGENTS), STORY_NOW).map((agent, at) =>
    at === 0 ? { ...agent, paused: aPause({ agent: agent.name, waiting: 3, mustChoose: true }) } : agent,
  );
  options.servers = makeServers(number("servers", SERVERS), STORY_NOW).map((server) =>
    server.name === "docs"
      ? { ...server, frozen: aPause({ server: server.name, processes: { stopped: 4, moving: 0, foreign: 0 } }) }
      : server,
  );
}
if (query.has("still")) {
  options.now = STORY_NOW;
  clock.freeze(STORY_NOW);
}
const target = document.getElementById("app");
if (target) mount(App, { target, props: { backend: fake(options) } });
