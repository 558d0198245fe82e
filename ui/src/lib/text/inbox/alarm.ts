/* Text of alarms: the item of an agent that does the same again and again, and the fields of a rule. */
import type { AlarmDto } from "$lib/bindings";
import { count, plural } from "$lib/format/count";

export const alarmText = {
  kind: "Alarm",
  title: {
    sameCall: (agent: string, calls: number, time: string) =>
      `${agent} made the same call ${plural(calls, "time")} in ${time}`,
    alternating: (agent: string, calls: number, time: string) =>
      `${agent} made two calls in turn, ${count(calls)} in ${time}`,
    sameError: (agent: string, calls: number, time: string) =>
      `${agent} got the same error ${plural(calls, "time")} in ${time}`,
    callRate: (agent: string, calls: number) => `${agent} made ${plural(calls, "call")} in a minute`,
    openCalls: (agent: string, calls: number) => `${agent} had ${plural(calls, "call")} open at once`,
  } satisfies Record<AlarmDto["kind"], (agent: string, calls: number, time: string) => string>,
  waits: (name: string) => `${name} is called again and again`,
  heading: "What it calls",
  tool: (tool: string, server: string) => `${tool} of ${server}`,
  most: (tool: string, server: string) => `Most of them: ${tool} of ${server}`,
  times: (first: string, last: string) => `The first call came ${first}, the last that is counted ${last}.`,
  why: (limit: number) =>
    `The alarm is raised at ${count(limit)}; a rule of the agent, server or tool can change that.`,
  twice: "A call whose result was the same as before counts twice.",
  goes: {
    open: "It goes on until the agent stops.",
    ended: "It has stopped by itself.",
    dismissed: "It was dismissed.",
  } satisfies Record<AlarmDto["state"], string>,
  /** What a rule has done about it. */
  done: {
    warn: "Nothing was cancelled.",
    ask: "Further calls wait and are not sent until you decide.",
    cancel: "A rule cancels the open tasks.",
  } satisfies Record<AlarmDto["action"], string>,
  send: "Send waiting calls",
  sendWhat: "the calls leave, and the agent goes on",
  drop: "Cancel waiting calls",
  dropWhat: "the calls are never sent; the next ones count from the beginning",
  decided: { send: "The calls are sent.", cancel: "The calls are cancelled." },
  can: "What you can do",
  dismiss: "Dismiss",
  dismissWhat: "you have seen it; nothing changes for the agent",
  dismissed: "The alarm was dismissed.",
  show: "Show the calls",
  showWhat: "those that became tasks; calls with a quick reply leave none",
  cancel: "Cancel its tasks",
  cancelWhat: (agent: string) => `asks to cancel every open task of ${agent}`,
  revoke: (agent: string) => `Show ${agent}`,
  revokeWhat: "its page revokes it, and sets its rules",
  ask: (tasks: number, agent: string) => `Ask to cancel ${plural(tasks, "open task")} of ${agent}?`,
  keep: "Keep them",

  /** A rule's number, where rules are listed. */
  sentence: {
    sameCalls: (calls: number, time: string) =>
      calls === 0 ? "Equal calls raise no alarm" : `${count(calls)} equal calls in ${time} raise an alarm`,
    callsPerMinute: (calls: number) =>
      calls === 0 ? "Calls in a minute raise no alarm" : `${plural(calls, "call")} in a minute raise an alarm`,
    openCalls: (calls: number) =>
      calls === 0 ? "Calls at once raise no alarm" : `${plural(calls, "call")} at once raise an alarm`,
    at: {
      warn: "At an alarm, people are told",
      ask: "At an alarm, further calls wait",
      cancel: "At an alarm, open tasks are cancelled",
    },
  },

  /** Of a rule. */
  field: {
    heading: "Alarms",
    sameCalls: "Equal calls",
    sameCallsHint: "How many, and within which time; an equal result counts twice. 0 for no alarm",
    callsPerMinute: "Calls in a minute",
    callsPerMinuteHint: "0 for no alarm",
    openCalls: "Calls at once",
    openCallsHint: "0 for no alarm",
    at: "At an alarm",
    then: {
      "": "The default: tell people",
      warn: "Tell people",
      ask: "Further calls wait for a person",
      cancel: "Cancel the open tasks",
    },
    default: { sameCalls: "10 in 10 min", callsPerMinute: "300", openCalls: "64" },
    bad: {
      sameCalls: "Enter a number from 2 to 200 and a time up to 1 d, such as 20 in 10 min, or 0.",
      callsPerMinute: "Enter a whole number up to 1,000,000, or leave it empty.",
      openCalls: "Enter a whole number up to 1,000,000, or leave it empty.",
    },
  },
} as const;
