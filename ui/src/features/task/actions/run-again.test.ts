import { describe, expect, test } from "vitest";
import { formArguments } from "$lib/task/stored-arguments";
import { callCommand } from "./run-again";

describe("the same call once more", () => {
  test("the_command_carries_the_arguments_as_they_were_sent", () => {
    expect(callCommand("docs", "index_folder", '{"path":"/a b","n":1.50}')).toBe(
      `taskwarden call docs index_folder --args '{"path":"/a b","n":1.50}'`,
    );
    expect(callCommand("docs", "it's", `{"q":"it's"}`)).toBe(
      `taskwarden call docs 'it'\\''s' --args '{"q":"it'\\''s"}'`,
    );
    expect(callCommand("docs", "ping", "{}")).toBe("taskwarden call docs ping");
  });

  test("a_form_gets_only_what_it_can_keep", () => {
    expect(formArguments('{"path":"/tmp","n":2}')).toEqual({ path: "/tmp", n: 2 });
    expect(formArguments('{"id":"12345678901234567890"}')).toEqual({ id: "12345678901234567890" });
    expect(formArguments('{"id":12345678901234567890}')).toBeNull();
    expect(formArguments('{"id":-12345678901234567890}')).toBeNull();
    expect(formArguments("[1]")).toBeNull();
    expect(formArguments("{")).toBeNull();
  });
});
