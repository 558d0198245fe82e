import { describe, expect, it } from "vitest";
import type { AddressDto } from "$lib/bindings";
import { draftOf, sameAddress, validateDraft } from "../add/server-draft";
import { changedLines } from "./address-change";

const before: AddressDto = {
  kind: "stdio",
  command: "/usr/bin/npx",
  args: ["-y", "docs 1"],
  env: { LANG: "C" },
  secretEnv: ["TOKEN"],
  cwd: null,
};

describe("changing how a server is reached", () => {
  it("begins with the address as it is, and keeps stored secrets that nobody typed", () => {
    const remote: AddressDto = { kind: "http", url: "https://h.example/mcp", secretHeaders: ["Authorization"] };
    for (const address of [before, remote]) {
      const checked = validateDraft(draftOf("docs", address), []);
      expect(checked.problems).toEqual([]);
      expect(checked.secrets, "no value leaves the page").toEqual({});
      expect(checked.address !== null && sameAddress(checked.address, address)).toBe(true);
    }
  });

  it("asks for the value of a secret that is not stored", () => {
    const draft = draftOf("docs", before);
    const env = [...draft.env, { id: 9, name: "NEW", value: "", secret: true }];
    expect(validateDraft({ ...draft, env }, []).problems).toEqual([{ field: "pair", id: 9, why: "value" }]);
  });

  it("shows old and new lines, and never a value of a secret", () => {
    const after: AddressDto = { ...before, args: ["-y", "docs 2"], env: {} };
    const lines = changedLines(before, after, ["TOKEN"]).map((line) => `${line.sign} ${line.label} ${line.text}`);
    expect(lines).toEqual(["− 2 docs 1", "− environment LANG=C", "+ 2 docs 2", "+ secrets TOKEN, with a new value"]);
    expect(changedLines(before, before, [])).toEqual([]);
  });
});
