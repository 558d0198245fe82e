import { describe, expect, test } from "vitest";
import { makeStorage } from "$lib/fake-core/storage";
import { removal, stuck } from "$lib/text/storage";
import { changesOf, draftOf, readLimit } from "./storage-limits";

const DAY = 86_400_000;
const limits = {
  payloadAgeMs: 30 * DAY,
  payloadBytes: 2_147_483_648,
  agentPayloadBytes: 1_073_741_824,
  serverPayloadBytes: 1_073_741_824,
  taskAgeMs: 400 * DAY,
  tasks: 500_000,
  agentTasks: 250_000,
  serverTasks: 250_000,
  receiptAgeMs: 90 * DAY,
  receipts: 10_000_000,
  auditAgeMs: 400 * DAY,
};

describe("limits of storage", () => {
  test("are_shown_in_days_gigabytes_and_tasks", () => {
    expect(draftOf(limits)).toEqual({
      payloadAgeMs: "30",
      payloadBytes: "2.15",
      agentPayloadBytes: "1.07",
      serverPayloadBytes: "1.07",
      taskAgeMs: "400",
      tasks: "500000",
      agentTasks: "250000",
      serverTasks: "250000",
      receiptAgeMs: "90",
      receipts: "10000000",
      auditAgeMs: "400",
    });
  });
  test("that_were_not_touched_are_not_rounded", () => {
    expect(changesOf(limits, draftOf(limits)), "nothing to save").toBe(null);
    expect(changesOf(limits, { ...draftOf(limits), payloadAgeMs: "7" })).toEqual({
      payloadAgeMs: 7 * DAY,
      payloadBytes: null,
      agentPayloadBytes: null,
      serverPayloadBytes: null,
      taskAgeMs: null,
      tasks: null,
      agentTasks: null,
      serverTasks: null,
      receiptAgeMs: null,
      receipts: null,
      auditAgeMs: null,
    });
  });
  test("are_numbers_above_zero", () => {
    expect([
      readLimit("payloadBytes", "1,5"),
      readLimit("agentTasks", "2000"),
      readLimit("payloadBytes", "0"),
      readLimit("taskAgeMs", "-1"),
      readLimit("taskAgeMs", "a year"),
      readLimit("taskAgeMs", ""),
    ]).toEqual([1_500_000_000, 2_000, null, null, null, null]);
  });
});

test("what_a_clean_up_removes_is_one_sentence", () => {
  expect(removal({ payloadTasks: 12, payloadBytes: 340_000_000, tasks: 1, receipts: 0, auditRows: 4_096 })).toBe(
    "the contents of 12 tasks (340 MB), 1 whole task and 4,096 audit rows",
  );
  expect(removal({ payloadTasks: 1, payloadBytes: 500, tasks: 0, receipts: 0, auditRows: 0 })).toBe(
    "the contents of 1 task (500 B)",
  );
  expect(removal({ payloadTasks: 0, payloadBytes: 0, tasks: 0, receipts: 0, auditRows: 0 })).toBe("");
});

test("what_exceeds_a_limit_and_cannot_be_removed_is_told_with_why_and_what_to_do", () => {
  const storage = makeStorage([], { first: 0, last: 0 }, 0);
  const of = (rows: number, size: number) =>
    stuck({
      stored: { ...storage.stored, keptTasks: { rows, bytes: size } },
      limits: { ...limits, tasks: 1_000, payloadBytes: 4_000_000 },
    });
  const why =
    "cannot be removed while the tasks are open, held, unanswered or undelivered. Answer, release or cancel what is open, or raise the limit.";
  expect(of(1_000, 4_000_000), "what is at its limit does not exceed it").toBe("");
  expect(of(1_001, 0)).toBe(`Above the limits now: 1,001 tasks of at most 1,000 ${why}`);
  expect(of(9, 5_000_000)).toBe(`Above the limits now: 5.0 MB of contents of tasks, of at most 4.0 MB, ${why}`);
});
