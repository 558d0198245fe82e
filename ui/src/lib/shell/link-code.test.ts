// @vitest-environment jsdom
import { afterEach, describe, expect, it } from "vitest";
import { takeLinkCode } from "./link-code";

afterEach(() => history.replaceState(null, "", "/"));
const at = (hash: string) => {
  history.replaceState(null, "", `/${hash}`);
  return takeLinkCode(window);
};

describe("a sign-in link", () => {
  it("gives its code once and leaves nothing of it in the address", () => {
    expect(at("#code=AB12-CD34-EF56")).toBe("AB12-CD34-EF56");
    expect(location.href).not.toContain("AB12");
    expect(location.hash).toBe("");
    expect(takeLinkCode(window), "a reload has none").toBeNull();
  });

  it("that was cut or changed is cleaned up as well, and is a wrong code", () => {
    for (const hash of ["#code=", "#code=<img src=x>", `#code=${"A".repeat(1_000)}`]) {
      expect(at(hash), hash).toBe("");
      expect(location.hash).toBe("");
    }
  });

  it("is no other address", () => {
    for (const hash of ["#/inbox", "#/tasks?code=AB12", ""]) {
      expect(at(hash), hash).toBeNull();
      expect(location.hash).toBe(hash);
    }
  });
});
