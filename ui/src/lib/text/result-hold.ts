/* The words of a result that is held back: what a person can do about it, wherever it is shown, and which limit holds it. */
import { count } from "$lib/format/count";

export const resultHoldText = {
  agent: "the agent",
  acts: (tool: string) => `What to do with the result of ${tool}`,

  /** Of a result that a person wanted to see: it goes as it came. */
  deliver: "Deliver it",
  slices: "Deliver in slices",
  whole: "Let it in whole",
  trim: "Trim and deliver",
  withhold: "Do not deliver",
  /** A second step follows. */
  ask: { whole: "Let it in whole…", trim: "Trim…", withhold: "Do not deliver…" },
  back: "Back",

  wholeTitle: (agent: string) => `Let all of it into the window of ${agent}?`,
  wholeWhat: (tokens: string, free: string) =>
    `It has ${tokens} tokens, and at most ${free} are free: it does not fit.`,

  trimTitle: (agent: string) => `Trim the result for ${agent}?`,
  trimWhat: "It is cut, and still a valid result; the rest stays here.",
  trimTo: "To about",
  badTrim: "Give a whole number of tokens, such as 5,000 or 5k.",
  unit: "tokens",

  withholdTitle: (agent: string) => `Do not deliver the result to ${agent}?`,
  withholdWhat: (agent: string) => `${agent} is told that a person withheld it, and never gets it. It stays here.`,
  reason: "Reason",
  reasonHint: (agent: string) => `Optional; ${agent} and the record see it`,

  done: {
    asItCame: (agent: string) => `Delivered to ${agent}.`,
    slices: (agent: string) => `${agent} reads it in slices.`,
    whole: (agent: string) => `Delivered to ${agent}, whole.`,
    trimmed: (agent: string, tokens: number) => `Delivered to ${agent}, trimmed to about ${count(tokens)} tokens.`,
    withheld: (agent: string) => `Withheld from ${agent}.`,
  },

  /** Whose limit of one result it is; null for one that is not set any more. */
  limit: {
    tool: (name: string, limit: string) => `One result of the tool ${name} may have ${limit} tokens`,
    server: (name: string, limit: string) => `One result of the server ${name} may have ${limit} tokens`,
    agent: (name: string, limit: string) => `One result for ${name} may have ${limit} tokens`,
    gone: (limit: string) => `When it came, one result could have ${limit} tokens`,
    cut: (program: string, shown: string) =>
      `It is above the ${shown} tokens that ${program} surely shows its model of one result; its agent reads it in slices.`,
    window: (agent: string, limit: string, free: string) =>
      `The window of ${agent} may hold ${limit} tokens, and ${free} of them were free`,
    windowGone: (agent: string, free: string) =>
      `When it came, ${free} tokens were free in the window of ${agent}, below its limit`,
    over: (limit: string, by: string) => `${limit}: it has ${by} too many.`,
  },
} as const;
