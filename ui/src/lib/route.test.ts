import { describe, expect, it } from "vitest";
import { readHash, writeHash } from "./route";

describe("addresses", () => {
  it("lead_to_an_item_whose_id_has_a_slash", () => {
    const hash = writeHash({ place: "inbox", id: "hdl_7f3k/ask 1", search: "" });
    expect(readHash(hash), "the id comes back whole").toEqual({ place: "inbox", id: "hdl_7f3k/ask 1", search: "" });
  });
  it("may_have_the_slash_plain", () =>
    expect(readHash("#/inbox/hdl_7f3k/ask")?.id, "a deep link is written by others").toBe("hdl_7f3k/ask"));
  it("of_the_audit_log_keep_the_row_and_the_filter", () => {
    const hash = writeHash({ place: "audit", id: "18199", search: "actor=person&verb=halted" });
    expect(hash, "as people share it").toBe("#/audit/18199?actor=person&verb=halted");
    expect(readHash(hash)).toEqual({ place: "audit", id: "18199", search: "actor=person&verb=halted" });
  });
  it("that_mean_nothing_are_no_place", () =>
    expect([readHash("#/nowhere"), readHash(""), readHash("#x")], "ignored").toEqual([null, null, null]));
  it("with_broken_escapes_stay_text", () => expect(readHash("#/tasks/%E0%A4%A")?.id, "no exception").toBe("%E0%A4%A"));
});
