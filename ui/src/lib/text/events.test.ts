import { describe, expect, test } from "vitest";
import type { ActorDto, AuditVerb, HistoryEvent } from "$lib/bindings";
import bindings from "$lib/bindings/index.ts?raw";
import { eventText } from "$lib/task/event";
import { EVENTS } from "./events";

/** Every word of the core's audit log, read from the types it generates. */
const VERBS = [...(/export type AuditVerb = ([^;]+);/.exec(bindings)?.[1]?.matchAll(/"(\w+)"/g) ?? [])].map(
  (found) => found[1] as AuditVerb,
);
const ACTORS: readonly ActorDto[] = ["person", "agent", "server", "limit", "taskwarden"];
/** What the core writes into notes. */
const NOTES = [
  "",
  "working -> completed",
  "call -> refused",
  "call -> not sent",
  "call -> sign-in refused",
  "call -> asked to wait",
  "input_required -> another word",
  "acknowledged",
  "refused",
  "too late",
  "does not fit",
  "no longer asked",
  "accept",
  "decline",
  "form",
  "revoked",
  "whole",
  "in slices",
  "trimmed to 900 tokens",
  "about 73,677 tokens for Claude, the limit is 20,000",
  "its time on the server ran out",
  "its agent was not heard of any more",
  "more than one task may ask; ignored from here on",
  "completed, then working",
  "heard of again after it was lost",
];
const WHO: Readonly<Record<ActorDto, string>> = {
  person: "Mara",
  agent: "order-bot",
  server: "warehouse",
  limit: "Taskwarden",
  taskwarden: "Taskwarden",
};

const look = (verb: AuditVerb, actor: ActorDto, note: string, agent: string | null = "order-bot") => {
  const event: HistoryEvent = {
    at: "2026-11-21T14:00:00.000Z",
    lane: "policy",
    actor,
    verb,
    who: WHO[actor],
    key: null,
    note,
  };
  return eventText(event, { server: "warehouse", agent, tool: "backfill", me: null });
};

describe("what happened, in words", () => {
  test("every_verb_of_the_log_has_a_sentence_whoever_acted", () => {
    expect(VERBS.length, "the types were read").toBeGreaterThan(30);
    for (const verb of VERBS) {
      for (const actor of ACTORS) {
        for (const note of NOTES) {
          const { text } = look(verb, actor, note);
          const where = `${verb} by ${actor} with “${note}”: ${text}`;
          expect(text, where).not.toBe(EVENTS.unknown);
          expect(text, `begins as a sentence, or with a name: ${where}`).toMatch(/^([A-Z]|order-bot\b|warehouse\b)/);
          expect(text, `no id: ${where}`).not.toMatch(/\b(agt|srv|hdl)_/);
          expect(text, `no word of ours: ${where}`).not.toMatch(
            /[a-z][A-Z]|->|gateway|budget\b|compose|undefined|null/,
          );
          expect(text, `no stored word: ${where}`).not.toContain("_");
        }
      }
    }
  });

  test("a_limit_says_by_how_much_and_an_agent_is_named", () => {
    expect(look("resultHeld", "limit", "about 73,677 tokens for Claude, the limit is 20,000").text).toBe(
      "A limit held the result back from order-bot: about 73,677 tokens for Claude, the limit is 20,000",
    );
    expect(look("given", "taskwarden", "").text).toBe("order-bot was given the task");
    expect(look("unconfirmed", "taskwarden", "the reply can no longer arrive").text).toBe(
      "The reply from warehouse is lost",
    );
    expect(look("revoked", "person", "", null).text).toBe("Mara revoked it from its agent");
  });

  test("what_a_control_token_did_is_never_said_of_taskwarden_or_of_the_file", () => {
    const by = (verb: AuditVerb) => {
      const event = {
        at: "2026-11-21T14:00:00.000Z",
        lane: "policy",
        actor: "taskwarden",
        key: null,
        note: "",
      } as const;
      const of = { server: "warehouse", agent: null, tool: "backfill", me: null };
      return eventText({ ...event, verb, who: "control:incident-bot" }, of).text;
    };
    expect([by("halted"), by("stopBegun"), by("revoked")]).toEqual([
      "Control token incident-bot halted work",
      "Control token incident-bot asked warehouse to cancel",
      "Control token incident-bot revoked it from its agent",
    ]);
    expect(look("halted", "taskwarden", "").text).toBe("The file HALT halted all calls");
  });

  test("only_what_a_person_wrote_stands_in_quotes", () => {
    expect([
      look("stopBegun", "person", "wrong month").words,
      look("resultReleased", "person", "in slices: it is long").words,
      look("resultWithheld", "person", "private").words,
    ]).toEqual(["wrong month", "it is long", "private"]);
    expect([
      look("ended", "server", "working -> completed").words,
      look("stopBegun", "limit", "61,000 tokens, the limit is 60,000").words,
      look("answerBegun", "person", "accept").words,
      look("resultReleased", "person", "whole").words,
    ]).toEqual([null, null, null, null]);
  });
});
