import { describe, expect, it } from "vitest";
import type { SignedOutDto } from "$lib/bindings";
import { aNeededSignIn, aSignIn } from "$lib/fake-core/servers/sign-in-calls";
import { needsSignIn, takesSignIn } from "$lib/server/standing";
import { healthStatus } from "../health";
import { sortedByNeed } from "../server-order";
import { aServer } from "../servers.example";
import { hostOf, namedPermissions, revocationNote, shortHost } from "./sign-in";
import { beginInput, NO_WISH, wishProblems } from "./sign-in-wish";

const remote = (secretHeaders: string[] = []) => ({
  kind: "http" as const,
  url: "https://mcp.linear.app/mcp",
  secretHeaders,
});

describe("a server", () => {
  it("takes a sign-in over HTTP, unless it has a token of its own", () => {
    expect(takesSignIn(aServer("a", { address: remote() }))).toBe(true);
    expect(takesSignIn(aServer("a", { address: remote(["X-Team"]) }))).toBe(true);
    expect(takesSignIn(aServer("a", { address: remote(["authorization"]) })), "whatever its letters").toBe(false);
    expect(takesSignIn(aServer("a")), "on this machine").toBe(false);
  });

  it("that asks for a sign-in says so although it answers other calls, and stands first", () => {
    const asking = aServer("z", { address: remote(), signIn: aNeededSignIn() });
    expect(needsSignIn(asking)).toBe(true);
    expect(healthStatus(asking, 0).word).toBe("Needs sign-in");
    expect(sortedByNeed([aServer("a"), asking]).map((one) => one.name)).toEqual(["z", "a"]);
    expect(needsSignIn({ ...asking, agreed: false }), "nobody allowed contact").toBe(false);
    expect(needsSignIn({ ...asking, signIn: aSignIn() })).toBe(false);
  });
});

describe("what others named", () => {
  it("is a host whose end is never lost", () => {
    expect(hostOf("https://auth.linear.app/authorize?x=1")).toBe("auth.linear.app");
    expect(hostOf("http://127.0.0.1:8080/")).toBe("127.0.0.1:8080");
    const long = shortHost(`${"login.".repeat(60)}evil.example`);
    expect(long.endsWith(".evil.example")).toBe(true);
    expect(long).toHaveLength(48);
    expect(long.startsWith("…")).toBe(true);
    expect(hostOf("not an address\u202e"), "no direction is turned").toBe("not an address");
  });

  it("is permissions without signs that hide or turn text, few and short", () => {
    const { named, more } = namedPermissions(["files\u200b:read", "\u202Ex", "", "y".repeat(500)], 3);
    expect(named).toEqual(["files:read", "x", "''"]);
    expect(more).toBe(1);
    expect(namedPermissions(["y".repeat(500)]).named[0]).toHaveLength(60);
  });
});

describe("after a sign-out", () => {
  it("it is said whether the issuer forgot the token", () => {
    const note = (revocation: SignedOutDto["revocation"]) => revocationNote({ revocation }, "auth.linear.app");
    expect(note("done")).toBe("auth.linear.app forgot the token.");
    expect(note("notConfirmed")).toContain("stays valid there until it expires");
    expect(note("nothing"), "there was none").toBeNull();
  });
});

describe("what a person typed under More", () => {
  it("is sent, and what is empty is left out", () => {
    expect(beginInput("linear", NO_WISH)).toEqual({ name: "linear" });
    expect(
      beginInput("linear", {
        clientId: " 3f2c ",
        clientSecret: " hush ",
        scopes: "files:read, files:write\n",
        port: "8080",
        privateNetwork: true,
      }),
    ).toEqual({
      name: "linear",
      clientId: "3f2c",
      clientSecret: " hush ",
      scopes: ["files:read", "files:write"],
      port: 8_080,
      privateNetwork: true,
    });
  });

  it("is refused where it cannot be meant", () => {
    expect(wishProblems({ ...NO_WISH, clientSecret: "hush" }).clientId).toBe(
      "Enter the client id that the secret belongs to.",
    );
    for (const port of ["0", "65536", "80a", "-1", "1.5"])
      expect(wishProblems({ ...NO_WISH, port }).port, port).toBe("Enter a number from 1 to 65535.");
    expect(wishProblems({ ...NO_WISH, port: " 65535 " })).toEqual({ clientId: null, port: null });
  });
});
