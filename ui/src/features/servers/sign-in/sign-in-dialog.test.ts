// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ApiError, SignInDto } from "$lib/bindings";
import type { Backend } from "$lib/backend/backend";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import { aNeededSignIn, aSignIn } from "$lib/fake-core/servers/sign-in-calls";
import { route } from "$lib/route.svelte";
import Servers from "../Servers.svelte";
import { aServer } from "../servers.example";

vi.setConfig({ testTimeout: 60_000 });
vi.stubGlobal(
  "ResizeObserver",
  class {
    observe(): void {
      /* never tells */
    }
    disconnect(): void {
      /* nothing to stop */
    }
  },
);
// Menus are laid into it.
document.body.append(document.createElement("main"));
let shown: Shown;
afterEach(() => shown.close());

const linear = (signIn: SignInDto | null, openTasks = 0) =>
  aServer("linear", {
    address: { kind: "http", url: "https://mcp.linear.app/mcp", secretHeaders: [] },
    signIn,
    openTasks,
  });

function open(signIn: SignInDto | null, calls: FakeOptions["calls"] = {}, openTasks = 0) {
  route.open("#/servers/linear");
  const backend = new FakeBackend({ servers: [linear(signIn, openTasks), aServer("docs")], tasks: 0, calls });
  const opened = vi.spyOn(backend as Backend, "openOutside");
  shown = show(Servers, {}, backend);
  return { backend, opened };
}
const input = (backend: FakeBackend, name: string) =>
  backend.called.filter((one) => one.name === name).map((one) => one.input);
const state = (backend: FakeBackend) => backend.state.servers.get("linear")?.signIn?.state;
const ask = () => shown.press("[role=tabpanel] button", "Sign in…");
const access = () => shown.press("[role=tab]", "Access");

describe("signing in to a server", () => {
  it("names whose page opens before anything opens, and opens it when asked to", async () => {
    const { backend, opened } = open(aNeededSignIn());
    await ask();
    const where = await shown.find("[role=dialog] p", "auth.linear.app");
    expect(where.textContent.replace(/\s+/g, " ").trim()).toBe("Sign in at auth.linear.app for mcp.linear.app.");
    await shown.find("[role=dialog] li", "issues:read");
    expect(opened, "nothing opens by itself").not.toHaveBeenCalled();
    await shown.press("[role=dialog] button", "Open auth.linear.app");
    await shown.find("[role=status]", "Waiting for the browser until");
    expect(opened.mock.calls[0]?.[0]).toMatch(/^https:\/\/auth\.linear\.app\/authorize\?/);
    expect(input(backend, "signIns.wait")[0]).toEqual({ name: "linear", waitMs: 20_000 });
  });

  it("ends when the browser comes back, and says so", async () => {
    const { backend } = open(aNeededSignIn());
    await ask();
    await shown.press("[role=dialog] button", "Open auth.linear.app");
    await backend.call("signIns.finish", { name: "linear", address: "http://127.0.0.1:41733/callback?code=1" });
    await until("the dialog is closed", () => document.querySelector("[role=dialog]") === null);
    await shown.find("dd", "Mara Lindqvist");
    expect(input(backend, "signIns.giveUp"), "a sign-in that is there is not given up").toEqual([]);
  });

  it("goes on waiting after a wrong address was pasted, and ends with the right one", async () => {
    const { backend } = open(aNeededSignIn());
    await ask();
    await shown.press("[role=dialog] button", "Paste the address instead");
    await until("the field has focus", () => document.activeElement?.tagName === "INPUT");
    await shown.type("[role=dialog] form input", "https://x.example/");
    await shown.press("[role=dialog] form button", "Finish");
    await shown.find("[role=dialog] .err", "This is not the address at which the browser ended.");
    expect(state(backend)).toBe("waiting");
    await shown.type("[role=dialog] form input", " http://127.0.0.1:41733/callback?code=1&state=2 ");
    await shown.press("[role=dialog] form button", "Finish");
    await until("the dialog is closed", () => document.querySelector("[role=dialog]") === null);
    expect(state(backend)).toBe("signedIn");
  });

  it("is given up when the dialog is closed", async () => {
    const { backend } = open(aNeededSignIn());
    await ask();
    await shown.find("[role=dialog] p", "auth.linear.app");
    await shown.press("[role=dialog] button", "Give up");
    await until("nothing is waited for", () => state(backend) === "needed");
    expect(input(backend, "signIns.giveUp")).toEqual([{ name: "linear" }]);
  });

  it("that is closed before the host is known is given up as soon as it is", async () => {
    let find: () => void = () => undefined;
    const found = new Promise<void>((done) => (find = done));
    const { backend } = open(aNeededSignIn(), {
      "signIns.begin": async () => {
        await found;
        return {
          address: "https://auth.linear.app/",
          host: "auth.linear.app",
          serverHost: "mcp.linear.app",
          issuer: "https://auth.linear.app",
          scopes: [],
          since: "2026-11-21T14:55:00.000Z",
          until: "2026-11-21T15:00:00.000Z",
        };
      },
    });
    await ask();
    await until("it is begun", () => input(backend, "signIns.begin").length === 1);
    await shown.press("[role=dialog] button", "Cancel");
    expect(input(backend, "signIns.giveUp")).toEqual([]);
    find();
    await until("it is given up", () => input(backend, "signIns.giveUp").length === 1);
    expect(input(backend, "signIns.wait")).toEqual([]);
  });

  it("says why it failed, and begins again with what was typed under More", async () => {
    let tries = 0;
    const refused: ApiError = {
      code: "refused",
      message: "the issuer registers no clients",
      hint: "Enter a client id.",
    };
    const { backend } = open(aNeededSignIn(), {
      "signIns.begin": () => {
        tries += 1;
        throw refused;
      },
    });
    await ask();
    await shown.find("[role=dialog] [role=alert]", "The issuer registers no clients.");
    await shown.type("[role=dialog] input[type=password]", "hush");
    await shown.press("[role=dialog] button", "Try again");
    await shown.find("[role=dialog] .err", "Enter the client id");
    expect(tries, "nothing is sent that cannot be meant").toBe(1);
    await shown.type("[role=dialog] details input", "3f2c");
    await shown.press("[role=dialog] button", "Try again");
    await until("it was tried again", () => tries === 2);
    expect(input(backend, "signIns.begin")[1]).toEqual({ name: "linear", clientId: "3f2c", clientSecret: "hush" });
    expect(shown.text(), "a secret is never shown").not.toContain("hush");
    expect(location.href).not.toContain("hush");
  });

  it("with other wishes gives up what was begun first", async () => {
    const { backend } = open(aNeededSignIn());
    await ask();
    await shown.find("[role=dialog] button", "Open auth.linear.app");
    await shown.type("[role=dialog] input[inputmode=numeric]", "8080");
    await shown.press("[role=dialog] button", "Continue with these");
    await until("it began twice", () => input(backend, "signIns.begin").length === 2);
    expect(
      backend.called
        .filter((one) => one.name.startsWith("signIns.") && one.name !== "signIns.wait")
        .map((one) => one.name),
    ).toEqual(["signIns.begin", "signIns.giveUp", "signIns.begin"]);
    expect(input(backend, "signIns.begin")[1]).toEqual({ name: "linear", port: 8_080 });
  });

  it("says when it was given up elsewhere, also where an earlier sign-in stays", async () => {
    const { backend } = open(aSignIn({ missingScopes: ["files:write"] }));
    await access();
    await shown.find("[role=tabpanel] p", "linear wants the permission files:write, which this sign-in does not have.");
    await shown.press("[role=tabpanel] button", "Sign in again…");
    await shown.find("[role=dialog] button", "Open auth.linear.app");
    await backend.call("signIns.giveUp", { name: "linear" });
    await shown.find("[role=dialog] [role=alert]", "It was given up elsewhere.");
  });

  it("is offered in the row of a server that asks for it", async () => {
    open(aNeededSignIn());
    await shown.press("[role=row] button", "Sign in…");
    await shown.find("[role=dialog] p", "auth.linear.app");
  });
});

describe("a sign-in that waits elsewhere", () => {
  it("can be given up or ended with a pasted address in the panel", async () => {
    const { backend } = open(aNeededSignIn());
    await until("the server is there", () => shown.page.textContent.includes("linear asks for a sign-in"));
    await backend.call("signIns.begin", { name: "linear" });
    await shown.find("[role=tabpanel] p", "Waiting for the browser");
    await shown.press("[role=tabpanel] button", "Give up");
    await shown.find("[role=tabpanel] p", "linear asks for a sign-in");
    await backend.call("signIns.begin", { name: "linear" });
    await shown.press("[role=tabpanel] button", "Paste the address instead");
    await shown.type("[role=tabpanel] form input", "http://127.0.0.1:41733/callback?code=1");
    await shown.press("[role=tabpanel] form button", "Finish");
    await shown.find("dd", "Mara Lindqvist");
  });
});

describe("signing out of a server", () => {
  it("asks first, says what is blocked then, and whether the issuer forgot the token", async () => {
    const { backend } = open(aSignIn(), {}, 2);
    await access();
    await shown.press("[role=tabpanel] button", "Sign out…");
    await shown.find("[role=dialog] p", "Taskwarden cannot check its 2 open tasks until somebody signs in.");
    expect(input(backend, "signIns.signOut")).toEqual([]);
    await shown.press("[role=dialog] button", "Sign out");
    await until("it is signed out", () => state(backend) === "needed");
    await until("the dialog is closed", () => document.querySelector("[role=dialog]") === null);
  });

  it("goes on to a new sign-in where another account is wanted", async () => {
    const { backend } = open(aSignIn());
    await access();
    await shown.press("[role=tabpanel] button", "Use another account…");
    await shown.press("[role=dialog] button", "Sign out and sign in again");
    await shown.find("[role=dialog] p", "Sign in at");
    expect(input(backend, "signIns.signOut")).toEqual([{ name: "linear" }]);
    expect(input(backend, "signIns.begin")).toEqual([{ name: "linear" }]);
  });

  it("keeps the dialog and says why where it failed", async () => {
    const locked: ApiError = { code: "failed", message: "the keychain is locked", hint: "Unlock it first." };
    open(aSignIn(), {
      "signIns.signOut": () => {
        throw locked;
      },
    });
    await access();
    await shown.press("[role=tabpanel] button", "Sign out…");
    await shown.press("[role=dialog] button", "Sign out");
    await shown.find("[role=dialog] [role=alert]", "The keychain is locked. Unlock it first.");
  });
});
