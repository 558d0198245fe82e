// @vitest-environment jsdom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Calls, PartDto } from "$lib/bindings";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { show, until, type Shown } from "$lib/fake-core/harness";
import ResultView from "./ResultView.svelte";

vi.setConfig({ testTimeout: 60_000 });
let shown: Shown;
afterEach(() => shown.close());

const part = (n: number, change: Partial<PartDto>): PartDto => ({
  n,
  kind: "text",
  mime: null,
  bytes: (change.preview ?? "").length,
  preview: "",
  cut: false,
  name: null,
  title: null,
  uri: null,
  description: null,
  ...change,
});

function view(content: Partial<Calls["tasks.content"][1]>, calls: FakeOptions["calls"] = {}): FakeBackend {
  const backend = new FakeBackend({
    calls: { "tasks.content": () => ({ bytes: 10, isError: false, parts: [], ...content }), ...calls },
  });
  shown = show(ResultView, { taskId: "hdl_1", of: "result" as const }, backend);
  return backend;
}

describe("a result", () => {
  it("never becomes markup, whatever a server sends", async () => {
    const evil = "<img src=x onerror=alert(1)><script>alert(2)</script>";
    view({
      parts: [
        part(0, { preview: evil, title: evil, description: evil }),
        part(1, { kind: "json", preview: JSON.stringify({ [evil]: evil }) }),
        part(2, { kind: "resourceLink", uri: `https://x.example/${evil}`, name: evil }),
      ],
    });
    await shown.find("[role=tree]");
    expect(shown.page.querySelector("img, script"), "nothing of it is an element").toBeNull();
    expect(shown.text()).toContain(evil);
  });

  it("opens a link outside only after a second step", async () => {
    const backend = view({ parts: [part(0, { kind: "resourceLink", uri: "https://x.example/a" })] });
    const opened: string[] = [];
    Object.assign(backend, {
      openOutside: (url: string) => {
        opened.push(url);
        return Promise.resolve();
      },
    });
    await shown.press("button", "Open in the browser");
    await shown.find("[role=dialog]", "x.example");
    expect(opened, "asking is not opening").toEqual([]);
    await shown.press("[role=dialog] button", "Open in the browser");
    expect(opened).toEqual(["https://x.example/a"]);
  });

  it("offers nothing to open where an address is no web address", async () => {
    view({ parts: [part(0, { kind: "resourceLink", uri: "javascript:alert(1)" })] });
    await shown.find("p", "a browser cannot open it");
    expect([...shown.page.querySelectorAll("button")].some((button) => button.textContent.includes("Open"))).toBe(
      false,
    );
    expect(shown.page.querySelector("a[href]"), "there is no live link").toBeNull();
  });

  it("comes in pieces that join without a gap", async () => {
    const whole = Array.from({ length: 900 }, (_, at) => `line ${at}`).join("\n");
    const backend = view(
      { parts: [part(0, { preview: whole.slice(0, 4_000), cut: true, bytes: whole.length })] },
      {
        "tasks.piece": ({ offset }) => ({
          text: whole.slice(offset, offset + 3_000),
          next: offset + 3_000 < whole.length ? offset + 3_000 : null,
          bytes: whole.length,
        }),
      },
    );
    await shown.find(".more button");
    // Each press brings one piece; the button goes when all of it is there.
    for (
      let more = shown.page.querySelector<HTMLElement>(".more button");
      more !== null;
      more = shown.page.querySelector<HTMLElement>(".more button")
    ) {
      const before = shown.page.querySelectorAll(".block").length;
      const asked = before === 1 && backend.called.every((one) => one.name !== "tasks.piece");
      more.click();
      await until("a piece came", () =>
        asked
          ? backend.called.some((one) => one.name === "tasks.piece")
          : shown.page.querySelectorAll(".block").length > before,
      );
      await until(
        "it may be pressed again",
        () => shown.page.querySelector(".more button")?.getAttribute("aria-busy") !== "true",
      );
    }
    expect(shown.page.querySelector(".well")?.textContent).toBe(whole);
  });

  it("says that there is none, and tells a failure from that", async () => {
    view(
      {},
      {
        "tasks.content": () => {
          throw { code: "notFound", message: "there is no stored result", hint: "" };
        },
      },
    );
    await shown.find("p", "There is no result.");
    await shown.close();
    view(
      {},
      {
        "tasks.content": () => {
          throw { code: "failed", message: "the registry cannot be read", hint: "Run `taskwarden doctor`." };
        },
      },
    );
    await shown.find("[role=alert]", "The registry cannot be read.");
  });

  it("says when the tool itself reports an error", async () => {
    view({ isError: true, parts: [part(0, { preview: "no such folder" })] });
    await shown.find("*", "The tool reported a failure.");
  });
});
