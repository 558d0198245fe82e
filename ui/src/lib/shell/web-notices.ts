/* Notifications of the browser: what came that needs a person, when the page is not in front. They open, and decide
   nothing (ruling 42), and say no more than the core's own: names, never a question. Pure but for `WebNotices`. */
import type { CoreDto, InboxRow, SettingsDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import { COMMANDS, APP } from "$lib/text/app";
import { writeHash } from "$lib/route";

export interface Notice {
  readonly title: string;
  /** Where a click leads. */
  readonly hash: string;
}

/** Whether the browser has to tell: not when the core tells by itself, or the person or the file said no. */
export function mayTell(core: CoreDto | null, settings: SettingsDto | null, now: number): boolean {
  if (core === null || settings === null || core.notifications !== "none") return false;
  if (settings.pausedUntil !== null && Date.parse(settings.pausedUntil) > now) return false;
  return !isQuiet(settings, new Date(now));
}

/** Within the quiet hours of the person, which may span midnight. */
export function isQuiet({ quietFrom, quietTo }: SettingsDto, at: Date): boolean {
  if (quietFrom === null || quietTo === null) return false;
  const time = `${String(at.getHours()).padStart(2, "0")}:${String(at.getMinutes()).padStart(2, "0")}`;
  return quietFrom <= quietTo ? time >= quietFrom && time < quietTo : time >= quietFrom || time < quietTo;
}

const PROBLEMS: readonly InboxRow["kind"][] = [
  "overdue",
  "lost",
  "unconfirmed",
  "blocked",
  "overLimit",
  "timeLimit",
  "alarm",
];

/** Of what came, what the person wants to hear of: one notice for all of it. */
export function noticeOf(fresh: readonly InboxRow[], settings: SettingsDto): Notice | null {
  const wanted = fresh.filter((row) => (PROBLEMS.includes(row.kind) ? settings.notifyProblem : settings.notifyWaiting));
  const [first] = wanted;
  if (first === undefined) return null;
  if (wanted.length > 1)
    return { title: APP.newRequests(wanted.length), hash: writeHash({ place: "inbox", id: null, search: "" }) };
  return {
    title: COMMANDS.waits[first.kind](singleLine(first.tool ?? (first.server || (first.agent ?? "")), 80)),
    hash: writeHash({ place: "inbox", id: first.id, search: "" }),
  };
}

const KEY = "taskwarden.notices";

/** Whether this browser tells. It asks only when a person presses the button. */
export class WebNotices {
  readonly isThere = "Notification" in globalThis;

  get permission(): NotificationPermission {
    return this.isThere ? Notification.permission : "denied";
  }

  get isOn(): boolean {
    try {
      return this.permission === "granted" && globalThis.localStorage.getItem(KEY) === "on";
    } catch {
      return false;
    }
  }

  async switchOn(): Promise<boolean> {
    if ((await Notification.requestPermission()) !== "granted") return false;
    this.#keep("on");
    return this.isOn;
  }

  switchOff(): void {
    this.#keep("off");
  }

  show(notice: Notice, open: (hash: string) => void): void {
    // One tag: several pages of this core, and a burst, are one notice.
    const shown = new Notification(APP.name, { body: notice.title, tag: "taskwarden", icon: "/mark.svg" });
    shown.onclick = () => {
      shown.close();
      window.focus();
      open(notice.hash);
    };
  }

  #keep(value: "on" | "off"): void {
    try {
      globalThis.localStorage.setItem(KEY, value);
    } catch {
      // A browser without storage cannot remember that it should tell.
    }
  }
}
