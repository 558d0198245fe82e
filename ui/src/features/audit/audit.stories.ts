/* The Audit screen in every state. */
import { story, type StoryFile } from "$lib/fake-core/story";
import Audit from "./Audit.svelte";
import {
  FAILED,
  growing,
  growingCalls,
  HOSTILE,
  HOSTILE_CALLS,
  logOf,
  NOT_LINKED,
  SPARSE,
  throws,
} from "./audit.example";

const HASH = "#/audit";
const CALLS = "#/audit/calls";

export default {
  title: "audit",
  stories: {
    "full day": story(Audit, {}, { hash: HASH }),
    "one row": story(Audit, {}, { hash: HASH, fake: { audit: 1 } }),
    "thirty rows": story(Audit, {}, { hash: HASH, fake: { audit: 30 } }),
    "10,000 rows, scrolled": story(
      Audit,
      {},
      { hash: HASH, fake: { audit: 10_000 }, keys: ["j", "End", "End", "End", "End"] },
    ),
    "a million rows": story(Audit, {}, { hash: HASH, fake: { audit: 1_234_567 } }),
    "empty log": story(Audit, {}, { hash: HASH, fake: { audit: 0 } }),
    "layout 1": story(Audit, {}, { hash: HASH, fake: { audit: logOf(1, 30).map((row) => ({ ...row, layout: 1 })) } }),
    "changed row": story(Audit, {}, { hash: HASH, fake: { audit: logOf(1, 30, { 24: { fits: false } }) } }),
    "first row kept after removal": story(Audit, {}, { hash: HASH, fake: { audit: logOf(4_097, 4_120) } }),
    "hostile text": () => story(Audit, {}, { hash: HASH, fake: { audit: logOf(1, 30, HOSTILE) } }),
    "list failed": story(Audit, {}, { hash: HASH, fake: { calls: { "audit.list": throws(FAILED) } } }),
    loading: story(Audit, {}, { hash: HASH, fake: { calls: { "audit.list": () => new Promise(() => undefined) } } }),
    "newer rows": story(Audit, {}, { hash: HASH, fake: { calls: { "audit.list": growing() } } }),
    "newer rows, filtered": story(
      Audit,
      {},
      { hash: "#/audit/18202?actor=person&server=docs", fake: { calls: { "audit.list": growing() } } },
    ),
    filtered: story(
      Audit,
      {},
      { hash: "#/audit?actor=person&verb=stopBegun&verb=halted&verb=answerBegun&server=docs" },
    ),
    "filtered, all conditions": story(
      Audit,
      {},
      {
        hash: "#/audit?since=2026-11-20&until=2026-11-22&actor=server&verb=ended&subject=handle&server=docs&agent=order-bot&task=hdl_&text=working&first=100",
      },
    ),
    "filtered, row open": story(Audit, {}, { hash: "#/audit/18202?actor=person%3Adana" }),
    "filter editor, time": story(Audit, {}, { hash: HASH, keys: ["/"] }),
    "filter editor, who": story(Audit, {}, { hash: "#/audit?actor=person", click: [".filters .word >> nth=0"] }),
    "filter editor, did": story(Audit, {}, { hash: "#/audit?verb=halted", click: [".filters .word >> nth=0"] }),
    "filter editor, server": story(Audit, {}, { hash: "#/audit?server=docs", click: [".filters .word >> nth=0"] }),
    export: story(Audit, {}, { hash: HASH, keys: ["e"] }),
    "export, filtered": story(Audit, {}, { hash: "#/audit?actor=person&text=wrong", keys: ["e"] }),
    "export, a table": story(
      Audit,
      {},
      { hash: "#/audit?actor=person", click: [".head button >> text=Export…", "[role=dialog] input[value=csv]"] },
    ),
    "export, a table saved": story(
      Audit,
      {},
      {
        hash: HASH,
        click: [
          ".head button >> text=Export…",
          "[role=dialog] input[value=csv]",
          "[role=dialog] [data-variant=primary]",
        ],
      },
    ),
    "export, too large": story(Audit, {}, { hash: "#/audit?server=docs", fake: { audit: 100_000 }, keys: ["e"] }),
    "export, refused": story(
      Audit,
      {},
      {
        hash: HASH,
        fake: { calls: { "audit.export": throws(FAILED) } },
        click: [".head button >> text=Export…", "[role=dialog] [data-variant=primary]"],
      },
    ),
    "no match": story(Audit, {}, { hash: "#/audit?text=nothing%20like%20it", fake: { audit: 30 } }),
    "no match so far": story(Audit, {}, { hash: "#/audit?text=nothing%20like%20it", fake: { audit: 1_234_567 } }),
    "matches, looked back, more to come": story(
      Audit,
      {},
      { hash: "#/audit?text=wrong%20month&first=1000", fake: { audit: SPARSE } },
    ),
    "wrong filter": story(Audit, {}, { hash: "#/audit?actor=martian" }),
    "row open": story(Audit, {}, { hash: "#/audit/18202" }),
    "row open, not loaded": story(Audit, {}, { hash: "#/audit/12000" }),
    "row open, layout 1": story(Audit, {}, { hash: "#/audit/40" }),
    "row open, erased note": story(Audit, {}, { hash: "#/audit/18204" }),
    "row open, unknown verb": story(Audit, {}, { hash: "#/audit/18191" }),
    "row open, first of the log": story(Audit, {}, { hash: "#/audit/1", fake: { audit: 30 } }),
    "row open, first that is kept": story(Audit, {}, { hash: "#/audit/4097", fake: { audit: logOf(4_097, 4_120) } }),
    "row open, changed": story(
      Audit,
      {},
      { hash: "#/audit/24", fake: { audit: logOf(1, 30, { 24: { fits: false } }) } },
    ),
    "row open, not linked": story(
      Audit,
      {},
      {
        hash: "#/audit/24",
        fake: { audit: 30, calls: { "audit.show": () => NOT_LINKED } },
      },
    ),
    "row open, hostile text": () => story(Audit, {}, { hash: "#/audit/26", fake: { audit: logOf(1, 30, HOSTILE) } }),
    "row open, hostile actor": () => story(Audit, {}, { hash: "#/audit/25", fake: { audit: logOf(1, 30, HOSTILE) } }),
    "no such row": story(Audit, {}, { hash: "#/audit/99999" }),
    "row failed": story(Audit, {}, { hash: "#/audit/18202", fake: { calls: { "audit.show": throws(FAILED) } } }),
    calls: story(Audit, {}, { hash: CALLS }),
    "calls, a million": story(Audit, {}, { hash: CALLS, fake: { receipts: 1_234_567 } }),
    "calls, none yet": story(Audit, {}, { hash: CALLS, fake: { receipts: 0 } }),
    "calls, one": story(Audit, {}, { hash: CALLS, fake: { receipts: 1 } }),
    "calls, 10,000, scrolled": story(
      Audit,
      {},
      { hash: CALLS, fake: { receipts: 10_000 }, keys: ["j", "End", "End", "End", "End"] },
    ),
    "calls, newer ones": story(Audit, {}, { hash: CALLS, fake: { calls: { "audit.calls": growingCalls() } } }),
    "calls, one open": story(Audit, {}, { hash: `${CALLS}-18202`, fake: { receipts: 18_204 } }),
    "calls, one open, refused": story(Audit, {}, { hash: CALLS, fake: { receipts: 30 }, keys: ["j", "j", "Enter"] }),
    "calls, one open, not loaded": story(
      Audit,
      {},
      { hash: `${CALLS}-12002?agent=order-bot`, fake: { receipts: 18_204 } },
    ),
    "calls, one open, hostile text": () =>
      story(Audit, {}, { hash: `${CALLS}-30`, fake: { receipts: 30, receiptChanges: HOSTILE_CALLS } }),
    "calls, one open, changed": story(
      Audit,
      {},
      { hash: `${CALLS}-28`, fake: { receipts: 30, receiptChanges: { 28: { fits: false } } } },
    ),
    "calls, not on record": story(Audit, {}, { hash: `${CALLS}-99999`, fake: { receipts: 30 } }),
    "calls, all filters": story(
      Audit,
      {},
      {
        hash: `${CALLS}?since=2026-11-20&until=2026-11-22T10:00:00Z&agent=order-bot&server=warehouse&tool=backfill_orders&outcome=task&verdict=allowed&task=hdl_0000000`,
      },
    ),
    "calls, filtered": story(Audit, {}, { hash: `${CALLS}?agent=order-bot&server=warehouse&outcome=refused` }),
    "calls, no match": story(Audit, {}, { hash: `${CALLS}?tool=nothing`, fake: { receipts: 30 } }),
    "calls, no match so far": story(Audit, {}, { hash: `${CALLS}?tool=nothing`, fake: { receipts: 1_234_567 } }),
    "calls, changed": story(
      Audit,
      {},
      { hash: CALLS, fake: { receipts: 30, receiptChanges: { 28: { fits: false } } } },
    ),
    "calls, hostile text": () =>
      story(Audit, {}, { hash: CALLS, fake: { receipts: 30, receiptChanges: HOSTILE_CALLS } }),
    "calls failed": story(Audit, {}, { hash: CALLS, fake: { calls: { "audit.calls": throws(FAILED) } } }),
    "calls, loading": story(
      Audit,
      {},
      { hash: CALLS, fake: { calls: { "audit.calls": () => new Promise(() => undefined) } } },
    ),
    "calls, core lost": story(Audit, {}, { hash: CALLS, fake: { connection: "stale" } }),
    "core lost": story(Audit, {}, { hash: HASH, fake: { connection: "stale" } }),
  },
} satisfies StoryFile;
