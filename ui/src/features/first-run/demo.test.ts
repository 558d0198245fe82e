import { describe, expect, it } from "vitest";
import type { AddressDto, Calls, RequestDto, TaskDto } from "$lib/bindings";
import { FakeBackend, type FakeOptions } from "$lib/fake-core/backend";
import { DEMO_TOOL, runDemo, type Step } from "./demo";

const address: AddressDto = {
  kind: "stdio",
  command: "taskwarden",
  args: ["demo-server"],
  env: {},
  secretEnv: [],
  cwd: null,
};
const now = Promise.resolve();

function core(shows: Partial<TaskDto>[], calls: FakeOptions["calls"] = {}): FakeBackend {
  let looks = 0;
  const backend: FakeBackend = new FakeBackend({
    servers: 0,
    tasks: 1,
    calls: {
      "tasks.show": ({ id }): Calls["tasks.show"][1] => {
        const change = shows[Math.min(looks, shows.length - 1)] ?? {};
        looks += 1;
        return {
          ...([...backend.state.rows.values()][0] as unknown as TaskDto),
          requests: [],
          log: [],
          decisions: [],
          id,
          over: false,
          ...change,
        };
      },
      ...calls,
    },
  });
  return backend;
}
const open: RequestDto = {
  key: "q1",
  kind: "form",
  message: "Tidy?",
  state: "open",
  openedAt: "",
  answer: null,
  withdrawnWhy: null,
  secretFields: [],
};
const names = (backend: FakeBackend) => backend.called.map((one) => one.name);

describe("the demo", () => {
  it("adds its server, starts the task that asks and leads to its question", async () => {
    const backend = core([{}, {}, { requests: [open] }]);
    const steps: Step[] = [];
    const outcome = await runDemo(
      backend,
      address,
      (step) => steps.push(step),
      () => now,
    );
    expect(outcome).toMatchObject({ kind: "asks", key: "q1" });
    expect(steps).toEqual(["connecting", "starting", "waiting"]);
    expect(backend.called.find((one) => one.name === "servers.add")?.input).toMatchObject({
      name: "demo",
      address,
      agreed: true,
    });
    expect(backend.called.find((one) => one.name === "tasks.start")?.input).toMatchObject({
      tool: DEMO_TOOL,
      arguments: {},
    });
  });

  it("uses a demo server that is there already", async () => {
    const up = {
      ...(await new FakeBackend({ servers: 1 }).call("servers.list", {})).servers[0],
      name: "demo",
      health: { kind: "up", since: null, why: null, hint: null, retryAt: null },
    };
    const backend = core([{ requests: [open] }], { "servers.list": () => ({ servers: [up as never] }) });
    await runDemo(
      backend,
      address,
      () => undefined,
      () => now,
    );
    expect(names(backend)).not.toContain("servers.add");
  });

  it("tells when the task ended without a question, and when none came in time", async () => {
    expect(
      (
        await runDemo(
          core([{ over: true }]),
          address,
          () => undefined,
          () => now,
        )
      ).kind,
    ).toBe("over");
    expect(
      (
        await runDemo(
          core([{}]),
          address,
          () => undefined,
          () => now,
        )
      ).kind,
    ).toBe("runs");
  });

  it("starts nothing on a server that cannot be reached", async () => {
    const down = { kind: "down", since: null, why: "no such program", hint: "Install it.", retryAt: null } as const;
    const first = (await new FakeBackend({ servers: 1 }).call("servers.list", {})).servers[0];
    const backend = core([{}], {
      "servers.add": () => ({ server: { ...first, name: "demo", health: down } as never, tools: null }),
    });
    expect(
      await runDemo(
        backend,
        address,
        () => undefined,
        () => now,
      ),
    ).toEqual({ kind: "unreachable", why: "no such program", hint: "Install it." });
    expect(names(backend)).not.toContain("tasks.start");
  });
});
