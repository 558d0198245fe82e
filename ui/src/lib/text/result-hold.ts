/* Text of a held result, wherever it is shown: what a person can do about it, and which limit holds it. */
import { plural } from "$lib/format/count";

export const resultHoldText = {
  agent: "the agent",
  acts: (tool: string) => `Actions for the result of ${tool}`,

  /** Of a result that a person wanted to see: it goes as it came. */
  deliver: "Deliver it",
  slices: "Deliver in parts",
  whole: "Deliver whole",
  trim: "Trim and deliver",
  withhold: "Do not deliver",
  /** A second step follows. */
  ask: { whole: "Deliver whole…", trim: "Trim…", withhold: "Do not deliver…" },
  back: "Back",

  wholeTitle: (agent: string) => `Deliver the whole result to ${agent}?`,
  wholeWhat: (tokens: string, free: string) =>
    `It has ${plural(tokens, "token")} and at most ${plural(free, "is", "are")} free in the window: it does not fit.`,

  trimTitle: (agent: string) => `Trim the result for ${agent}?`,
  trimWhat: "It is shortened to a valid result. The rest stays here.",
  trimTo: "To about",
  badTrim: "Enter a whole number of tokens, such as 5,000 or 5k.",
  unit: "tokens",

  withholdTitle: (agent: string) => `Do not deliver the result to ${agent}?`,
  withholdWhat: (agent: string) => `${agent} is told that a person withheld it. The result stays here.`,
  reason: "Reason",
  reasonHint: (agent: string) => `Optional; shown to ${agent} and kept in the audit log`,

  done: {
    asItCame: (agent: string) => `Delivered to ${agent}.`,
    slices: (agent: string) => `Delivered to ${agent} in parts.`,
    whole: (agent: string) => `Delivered whole to ${agent}.`,
    trimmed: (agent: string, tokens: number) => `Delivered to ${agent}, trimmed to about ${plural(tokens, "token")}.`,
    withheld: (agent: string) => `Withheld from ${agent}.`,
  },

  /** Which limit holds it; null for a limit that is no longer set. */
  limit: {
    tool: (name: string, limit: string) => `The limit for one result of the tool ${name} is ${plural(limit, "token")}`,
    server: (name: string, limit: string) =>
      `The limit for one result of the server ${name} is ${plural(limit, "token")}`,
    agent: (name: string, limit: string) => `The limit for one result for ${name} is ${plural(limit, "token")}`,
    gone: (limit: string) => `When it arrived, the limit for one result was ${plural(limit, "token")}`,
    cut: (program: string, shown: string) =>
      `It is longer than the ${plural(shown, "token")} of one result that ${program} is sure to show its model; its agent reads it in parts.`,
    window: (agent: string, limit: string, free: string) =>
      `The window of ${agent} may hold ${plural(limit, "token")}, of which ${plural(free, "was", "were")} free`,
    windowGone: (agent: string, free: string) =>
      `When it arrived, ${plural(free, "token was", "tokens were")} free in the window of ${agent} below its limit`,
    over: (limit: string, by: string) => `${limit}; it is ${by} over.`,
  },
} as const;
