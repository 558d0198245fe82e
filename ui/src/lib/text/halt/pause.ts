/* Text about agents whose new calls wait and servers whose processes are frozen. */
import { count, plural } from "$lib/format/count";

const processes = (n: number) => plural(n, "process", "processes");

/** The words that differ between an agent and a server. */
export const pauseText = {
  agent: {
    pause: "Pause new calls…",
    title: (name: string) => `Pause new calls of ${name}?`,
    what: "New calls wait here and are not sent. What runs already goes on. The agent sees that its calls wait.",
    start: "Pause new calls",
    resume: "Resume…",
    endTitle: (name: string) => `Resume ${name}?`,
    end: (sent: number) => (sent === 0 ? "Resume" : `Resume and send ${count(sent)}`),
    state: "Paused",
    begun: (name: string) => `New calls of ${name} wait`,
    ended: (name: string, sent: number) => `${name} goes on${sent === 0 ? "" : `; ${plural(sent, "call")} sent`}`,
  },
  server: {
    pause: "Freeze…",
    title: (name: string) => `Freeze the processes of ${name}?`,
    what: "Its processes stop where they are and keep their memory. Its tasks stand still, and new calls to it wait. Time limits of the server itself go on.",
    start: "Freeze processes",
    resume: "Thaw…",
    endTitle: (name: string) => `Thaw ${name}?`,
    end: (sent: number) => (sent === 0 ? "Thaw" : `Thaw and send ${count(sent)}`),
    begun: (name: string) => `${name} is frozen`,
    ended: (name: string, sent: number) => `${name} continues${sent === 0 ? "" : `; ${plural(sent, "call")} sent`}`,
  },
  affects: (tasks: number) =>
    tasks === 0
      ? "Nothing runs on it now."
      : `${plural(tasks, "open task")} ${tasks === 1 ? "stands" : "stand"} still.`,
  hold: "Hold results that arrive",
  holdNote: "A person decides about each one",
  keep: "Keep it as it is",
  waiting: (n: number) => (n === 0 ? "No call waits." : `${plural(n, "call waits", "calls wait")}.`),
  choose: "Untick what should not be sent: it is cancelled, and the server never hears of it.",
  call: (who: string | null, when: string) => (who === null ? when : `${who}, ${when}`),
  all: (someAreLeft: boolean) => (someAreLeft ? "Tick all" : "Untick all"),
  failed: "The calls that wait could not be read",
  frozen: (name: string, stopped: number) =>
    stopped === 0
      ? `No process of ${name} runs now.`
      : `${processes(stopped)} of ${name} ${stopped === 1 ? "is frozen. It keeps its" : "are frozen. They keep their"} memory.`,
  gone: (name: string, when: string) =>
    `The frozen processes of ${name} disappeared ${when}. What they had in memory is lost.`,
  moving: (n: number) => `${processes(n)} ${n === 1 ? "has" : "have"} not stopped yet.`,
  foreign: (n: number) => `${processes(n)} of somebody else ${n === 1 ? "was" : "were"} left alone.`,
  ran: (when: string) => `Another program let it run ${when}; it was frozen again.`,
  paused: (name: string) => `New calls of ${name} wait.`,
  results: "Results that arrive are held.",
  /** Who wanted it, when and why. */
  by: (who: string, when: string, reason: string, isFrozen: boolean) =>
    `${isFrozen ? "Frozen" : "Paused"} by ${who}, ${when}${reason === "" ? "" : `: “${reason}”`}.`,
  /** Calls wait so long that the core asks for a choice. */
  mustChoose: (n: number) => `Choose which ${n === 1 ? "is" : "are"} still wanted when you end this.`,
  again: "Try again",
  /** Why a task stands still. */
  task: {
    agentPaused: (agent: string) => `Not sent: new calls of ${agent} are paused. Resume it on the agent’s page.`,
    serverFrozen: (server: string) => `Not sent: ${server} is frozen. Thaw it on the server’s page.`,
    alarm: () => "Not sent: an alarm asks whether calls like this are wanted. Decide in the inbox.",
    frozen: (server: string) => `Stands still: ${server} is frozen. Its time does not count.`,
  },
} as const;
