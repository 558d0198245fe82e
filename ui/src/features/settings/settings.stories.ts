import type { AnchorDto, ApiError, SinkDto, SinkSignalDto } from "$lib/bindings";
import { story, type StoryFile } from "$lib/fake-core/story";
import Settings from "./Settings.svelte";

/** Less than the made-up core stores. */
const DUE = { payloadTasks: 12, payloadBytes: 140_000, tasks: 4, receipts: 25_600, auditRows: 8_192 };

function anchor(id: number, path: string, change: Partial<AnchorDto>): AnchorDto {
  const well = { newest: null, copied: null, trouble: null, contradicts: false, isBesideRegistry: false };
  return { id, kind: "file", path, remote: null, ...well, ...change };
}

function collector(id: number, url: string, ...changes: Partial<SinkSignalDto>[]): SinkDto {
  const well = { next: 18_205, waiting: 0, taken: "2026-11-21T14:31:28.000Z", trouble: null, since: null };
  const rest = { paused: false, skipped: 0, rejected: 0, rejectedSince: null };
  const signals = changes.map((change): SinkSignalDto => {
    const signal = change.signal ?? "logs";
    return { signal, url: `${url}/v1/${signal}`, ...well, ...rest, ...change };
  });
  return { id, url, headers: [], signals };
}
const WELL = collector(1, "http://localhost:4318", {}, { signal: "traces" });
const IN_TROUBLE = collector(2, `https://logs.${"a-long-name.".repeat(8)}example`, {
  next: 13_995,
  waiting: 4_210,
  taken: "2026-11-21T11:40:00.000Z",
  trouble: "cannot be reached: the connection was refused",
  since: "2026-11-21T11:41:07.000Z",
  skipped: 320,
  rejected: 3,
  rejectedSince: "2026-11-19T09:12:00.000Z",
});
const NO_TRACES: Partial<SinkSignalDto> = {
  signal: "traces",
  next: 18_010,
  waiting: 195,
  taken: null,
  trouble: "answered 404: no collector is at this path (plain text of 18 bytes from 203.0.113.7:443)",
  since: "2026-11-20T08:01:00.000Z",
  paused: true,
};
const PAUSED: SinkDto = {
  ...collector(
    3,
    "https://otlp.vendor.example",
    {
      next: 18_001,
      waiting: 204,
      taken: "2026-11-20T08:00:00.000Z",
      trouble:
        "answered 401: credentials are missing or wrong (gRPC code 16, unauthenticated, JSON of 52 bytes from 203.0.113.7:443)",
      since: "2026-11-20T08:01:00.000Z",
      paused: true,
    },
    NO_TRACES,
  ),
  headers: ["Authorization", "X-Tenant"],
};

/** A click brings what it meets into sight. */
const SHOW_COLLECTORS = ["h4 >> text=Add a collector"];

export default {
  title: "settings",
  stories: {
    "in a browser": story(Settings, {}),
    "in the window": story(Settings, {}, { fake: { kind: "window" } }),
    "quiet and paused": story(
      Settings,
      {},
      { fake: { settings: { quietFrom: "22:00", quietTo: "07:00", pausedUntil: "2026-11-21T15:31:00.000Z" } } },
    ),
    "no notification service, secrets in a file": story(
      Settings,
      {},
      {
        fake: {
          core: {
            notifications: "none",
            secretsInFile: true,
            registryFindings: ["one row of the change log is missing; a copy was kept"],
          },
        },
      },
    ),
    "switched off in the file": story(Settings, {}, { fake: { core: { notifications: "off" } } }),
    "limits to clean up": story(
      Settings,
      {},
      {
        hash: "#/settings/storage",
        fake: {
          storage: {
            due: DUE,
            shrinks: false,
            reserveBytes: 0,
            removedSegments: 2,
          },
        },
      },
    ),
    "lower limits that wait": story(
      Settings,
      {},
      {
        hash: "#/settings/storage",
        click: ["h3 >> text=Clean-up"],
        fake: {
          storage: {
            due: DUE,
            waitsUntil: "2026-11-21T14:35:00.000Z",
          },
        },
      },
    ),
    "clean up, asked": story(
      Settings,
      {},
      {
        fake: {
          storage: {
            due: DUE,
            shrinks: false,
          },
        },
        click: ["text=Clean up now"],
      },
    ),
    "audit log with erased texts": story(
      Settings,
      {},
      {
        fake: {
          calls: {
            "audit.verify": () => ({
              checked: 18_204,
              verifiedTo: 18_204,
              last: 18_204,
              first: 1,
              complete: true,
              erased: 12,
              firstErased: 8_820,
              broken: null,
            }),
          },
        },
        click: ["text=Check now"],
      },
    ),
    "audit log that does not fit": story(
      Settings,
      {},
      {
        fake: {
          calls: {
            "audit.verify": () => ({
              checked: 4_000,
              verifiedTo: 3_999,
              last: 18_204,
              first: 1,
              complete: false,
              erased: 0,
              firstErased: null,
              broken: { number: 4_000, why: "its hash is not that of its content" },
            }),
          },
        },
        click: ["text=Check now"],
      },
    ),
    "copies of checkpoints": story(
      Settings,
      {},
      {
        hash: "#/settings/audit",
        fake: {
          anchors: [
            anchor(1, "/media/usb/taskwarden.notes", { newest: 18_204 }),
            anchor(2, "/home/ada/taskwarden.notes", { newest: 18_204, isBesideRegistry: true }),
            anchor(3, "/media/backup/taskwarden.notes", { trouble: "is not there" }),
            anchor(6, "https://collector.example:4318", { kind: "otlp", newest: 18_204 }),
            anchor(7, "https://logs.example", { kind: "otlp", trouble: "answered 503: it is not available now" }),
            anchor(5, "/srv/git/proofs.git", { kind: "git", remote: "backup", newest: 18_204 }),
            anchor(4, `/media/${"a-long-name/".repeat(12)}log.notes`, {
              trouble:
                "has a checkpoint of 18,900 rows, and the log has 18,204: rows were cut off, or an older copy of the registry was put back",
              contradicts: true,
            }),
          ],
        },
      },
    ),
    "collectors, none": story(Settings, {}, { click: SHOW_COLLECTORS }),
    "collectors, one that works": story(Settings, {}, { click: SHOW_COLLECTORS, fake: { sinks: [WELL] } }),
    "collectors, one in trouble": story(Settings, {}, { click: SHOW_COLLECTORS, fake: { sinks: [IN_TROUBLE] } }),
    "collectors, one paused": story(Settings, {}, { click: SHOW_COLLECTORS, fake: { sinks: [PAUSED] } }),
    "collectors, an address that is refused": story(
      Settings,
      {},
      { click: ["text=Add header", "form[aria-labelledby] input >> nth=0"], keys: [..."http://logs", "Enter"] },
    ),
    "collectors, removal": story(Settings, {}, { fake: { sinks: [PAUSED] }, click: ["text=Remove…"] }),
    "collectors, all kinds": story(
      Settings,
      {},
      { hash: "#/settings/audit", fake: { sinks: [WELL, IN_TROUBLE, PAUSED] } },
    ),
    "storage that cannot be read": story(
      Settings,
      {},
      {
        hash: "#/settings/storage",
        fake: {
          calls: {
            "storage.show": () => {
              throw {
                code: "failed",
                message: "the registry could not be read",
                hint: "Run `taskwarden doctor`.",
              } satisfies ApiError;
            },
          },
        },
      },
    ),
    "no browser signed in": story(Settings, {}, { fake: { kind: "window", sessions: [] } }),
    "checked, with a problem": story(Settings, {}, { click: ["text=Check now >> nth=1"] }),
    loading: story(Settings, {}, { fake: { connection: "connecting" } }),
    stale: story(Settings, {}, { fake: { connection: "stale" } }),
  },
} satisfies StoryFile;
