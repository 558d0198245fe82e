/* What the status bar says of servers and settings. Tasks and items are counted by the core. Pure. */
import type { CoreDto, ServerDto, SettingsDto } from "$lib/bindings";
import { standing } from "$lib/server/standing";

export interface ServerCounts {
  readonly up: number;
  readonly trouble: number;
  readonly signIn: number;
  readonly connecting: number;
  readonly frozen: number;
  readonly all: number;
}

export function serverCounts(servers: Iterable<ServerDto>): ServerCounts {
  let up = 0;
  let trouble = 0;
  let signIn = 0;
  let connecting = 0;
  let frozen = 0;
  let all = 0;
  for (const server of servers) {
    all += 1;
    const how = standing(server);
    switch (how) {
      case "up":
        up += 1;
        break;
      case "down":
        trouble += 1;
        break;
      case "blocked":
        signIn += 1;
        break;
      case "connecting":
        connecting += 1;
        break;
      case "frozen":
        frozen += 1;
        break;
      // The list says that nobody allowed it, that it was not tried, or that a person ended it: none of it is trouble.
      case "notAgreed":
      case "unknown":
      case "ended":
        break;
      default:
        how satisfies never;
    }
  }
  return { up, trouble, signIn, connecting, frozen, all };
}

export function isPaused(settings: SettingsDto, now: number): boolean {
  return settings.pausedUntil !== null && Date.parse(settings.pausedUntil) > now;
}

export function lacksNotices(core: CoreDto): boolean {
  return core.notifications === "none";
}
