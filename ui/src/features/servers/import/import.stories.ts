import { aClientServer } from "$lib/fake-core/servers/client-calls";
import { story, type StoryFile } from "$lib/fake-core/story";
import Servers from "../Servers.svelte";
import { aServer } from "../servers.example";

const HASH = "#/servers/%2Bimport";
const ROUTE = "aside .ways button >> nth=0";
const AGREE = "[role=dialog] button:has-text('Change 1 file')";
const servers = [aServer("docs")];
const long = "x".repeat(100_000);
/** One program with everything a file may say, and three hundred servers more. */
const hostileClients = {
  clients: [
    {
      client: "cursor",
      label: `<b>${long.slice(0, 200)}</b>`,
      files: [
        {
          path: `/home/${long.slice(0, 600)}.json`,
          scope: "project" as const,
          problem: `<script>alert(1)</script> ${long}`,
          drift: [],
          servers: [
            aClientServer(long, {
              server: "renamed",
              folder: `/${long}`,
              alsoIn: ["claude-code", long],
              address: {
                kind: "stdio",
                command: `/${long}`,
                args: [long, "\u202Etxt.exe", "$(rm -rf /)"],
                env: {},
                secretEnv: [long],
                cwd: null,
              },
              variables: [{ name: long, environment: true, secret: false, default: long }],
            }),
            aClientServer("why", {
              state: "unresolved",
              why: `<i>${long}</i>`,
              address: null,
              fingerprint: null,
              server: null,
            }),
            ...Array.from({ length: 300 }, (_, at) => aClientServer(`server-${at}`)),
          ],
        },
      ],
    },
  ],
};

export default {
  title: "servers-import",
  stories: {
    designed: story(Servers, {}, { fake: { servers }, hash: HASH }),
    "a value is missing": story(
      Servers,
      {},
      { fake: { servers }, hash: HASH, click: ["aside footer button[type=submit]"] },
    ),
    done: story(
      Servers,
      {},
      {
        fake: { servers },
        hash: HASH,
        click: ["aside label.opt >> nth=1", "aside footer button[type=submit]"],
      },
    ),
    route: story(Servers, {}, { fake: { servers }, hash: HASH, click: [ROUTE] }),
    routed: story(Servers, {}, { fake: { servers }, hash: HASH, click: [ROUTE, AGREE] }),
    "nothing there": story(
      Servers,
      {},
      {
        fake: { servers, calls: { "clients.list": () => ({ clients: [] }) } },
        hash: HASH,
      },
    ),
    fails: story(
      Servers,
      {},
      {
        fake: {
          servers,
          calls: {
            "clients.list": () => {
              throw { code: "failed", message: "the core does not answer", hint: "Start it again." };
            },
          },
        },
        hash: HASH,
      },
    ),
    "searching many": story(
      Servers,
      {},
      {
        fake: { servers, calls: { "clients.list": () => hostileClients } },
        hash: HASH,
        click: ["#import-search"],
        keys: ["2", "9"],
      },
    ),
    hostile: story(Servers, {}, { fake: { servers, calls: { "clients.list": () => hostileClients } }, hash: HASH }),
  },
} satisfies StoryFile;
