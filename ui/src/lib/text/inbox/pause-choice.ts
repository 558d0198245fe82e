/* Text of a pause that asks which of the waiting calls are sent. */
import { count, plural } from "$lib/format/count";

const waiting = (calls: number, whose: string) => `${plural(calls, "call")} ${whose} ${calls === 1 ? "waits" : "wait"}`;

const inOrder = (calls: number) => (calls === 1 ? "" : "in the order in which they were made; ");
const them = (calls: number) => (calls === 1 ? "it" : "them");

export const pauseChoiceText = {
  kind: "Calls wait",
  title: {
    agent: (name: string, calls: number) => `${waiting(calls, `of ${name}`)} for your choice`,
    server: (name: string, calls: number) => `${waiting(calls, `to ${name}`)} for your choice`,
  },
  waits: (name: string) => `${name} has calls that wait for your choice`,
  heading: "What waits",
  why: (calls: number) =>
    calls === 1
      ? "It was not sent, and may no longer be wanted. Untick it to cancel it instead."
      : "None of these was sent, and some may no longer be wanted. Those that you untick are cancelled.",
  more: (calls: number) => `and ${count(calls)} more`,
  can: "What you can do",
  sendAll: (calls: number) => (calls === 1 ? "Send it" : `Send all ${count(calls)}`),
  send: (sent: number, left: number) => `Send ${count(sent)}, cancel ${count(left)}`,
  sendWhat: {
    agent: (name: string, calls: number) => `${inOrder(calls)}new calls of ${name} leave again`,
    server: (name: string, calls: number) => `${inOrder(calls)}${name} continues`,
  },
  cancelAll: (calls: number) => (calls === 1 ? "Cancel it" : `Cancel all ${count(calls)}`),
  cancelWhat: {
    agent: (name: string, calls: number) => `no server hears of ${them(calls)}; new calls of ${name} leave again`,
    server: (name: string, calls: number) => `${name} never hears of ${them(calls)}, and continues`,
  },
  later: "Not now",
  laterWhat: "everything stays as it is; nothing is sent",
  ask: (calls: number) => `Cancel ${calls === 1 ? "the waiting call" : `all ${count(calls)} waiting calls`}?`,
  askWhat: "This cannot be taken back. A call that is still wanted must be made again.",
  keep: "Keep them",
  choose: "Choose which calls are sent",
  ended: (name: string, sent: number, left: number, still: number) =>
    [
      `${name} goes on`,
      sent === 0 ? "" : `${plural(sent, "call")} sent`,
      left === 0 ? "" : `${count(left)} cancelled`,
      still === 0 ? "" : `${count(still)} held by another pause`,
    ]
      .filter(Boolean)
      .join("; "),
  facts: {
    agent: "Paused agent",
    server: "Frozen server",
    since: { agent: "Paused since", server: "Frozen since" },
    by: { agent: "Paused by", server: "Frozen by" },
    asks: "Asks since",
  },
} as const;
