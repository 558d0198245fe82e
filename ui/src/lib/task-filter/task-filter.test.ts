import { describe, expect, test } from "vitest";
import type { Totals } from "$lib/bindings";
import { ALL_PHASES, GROUPS } from "$lib/task/phase";
import {
  NO_FILTER,
  conditions,
  countOf,
  ALL_VIEW,
  GROUP_PHASES,
  ownViews,
  parseFilter,
  readSearch,
  readSpan,
  currentView,
  SYSTEM_VIEWS,
  toListQuery,
  offers,
  takeTyped,
  withOffer,
  withoutCondition,
  formatFilter,
  writeSearch,
  writeSpan,
} from "./index";

describe("the text of a filter", () => {
  test("every_condition_is_read", () => {
    const { filter, problems } = parseFilter(
      'phase:running,waiting server:ci agent:"night ops" tool:deploy is:held,orphaned age>10m changed<24h group:server sort:changed  green build',
    );
    expect(problems, "all of it is known").toEqual([]);
    expect(filter).toEqual({
      phases: ["waiting", "running"],
      servers: ["ci"],
      agents: ["night ops"],
      tools: ["deploy"],
      flags: ["orphaned", "held"],
      text: "green build",
      changed: { kind: "within", ms: 86_400_000 },
      olderThanMs: 600_000,
      groupBy: "server",
      sort: "changed",
      reversed: false,
    });
  });

  test("the_words_of_the_screen_are_the_words_of_the_query", () => {
    const { filter, problems } = parseFilter("phase:working,waiting-for-you is:agent-gone older:1h sort:-task");
    expect(problems).toEqual([]);
    expect(filter).toMatchObject({
      phases: ["waiting", "running"],
      flags: ["orphaned"],
      olderThanMs: 3_600_000,
      sort: "task",
      reversed: true,
    });
    expect(formatFilter(filter)).toBe("phase:waiting-for-you,working is:agent-gone older:1h sort:-task");
    expect(parseFilter("phase:no-news").filter.phases, "the group of that name").toEqual([
      "unwatched",
      "silent",
      "expired",
    ]);
  });

  test("what_is_written_is_read_back_the_same", () => {
    for (const text of [
      "",
      "is:orphaned,held",
      "is:hidden server:ci",
      "phase:needsYou",
      "phase:needsYou,running",
      'server:"a b",c tool:x',
      "age>90s changed:today",
      'group:none sort:oldest "age>3d"',
      "https://ci.example/42",
      '"phase:running"',
      "a  b",
    ]) {
      const once = formatFilter(parseFilter(text).filter);
      expect(formatFilter(parseFilter(once).filter), `\`${text}\` is canonical after one round`).toBe(once);
      expect(parseFilter(once).filter, `\`${text}\` means the same afterwards`).toEqual(parseFilter(text).filter);
    }
  });

  test("quoted_words_are_words_even_when_they_look_like_conditions", () => {
    const filter = { ...NO_FILTER, text: "phase:running" };
    expect(parseFilter(formatFilter(filter)).filter.text, "a search for the text itself").toBe("phase:running");
  });

  test("the_same_filter_in_another_order_has_the_same_text", () => {
    expect(formatFilter(parseFilter("tool:b tool:a phase:running phase:waiting").filter)).toBe(
      formatFilter(parseFilter("phase:waiting,running tool:a,b").filter),
    );
  });

  test("what_cannot_be_read_is_told_and_the_rest_counts", () => {
    const { filter, problems } = parseFilter("phase:asleep age<3m changed>1h age>soon server:ci sort:size");
    expect(problems, "each wrong part has its sentence").toHaveLength(5);
    expect(filter.servers, "the right part counts").toEqual(["ci"]);
  });

  test("an_endless_line_is_cut", () => {
    expect(parseFilter("x".repeat(1_000_000)).filter.text.length).toBeLessThanOrEqual(2_000);
  });
});

describe("typing", () => {
  const known = { servers: ["docs", "github"], agents: ["claude-code", "my agent"], tools: ["index_folder"] };

  test("a_condition_counts_when_it_is_finished_and_words_at_once", () => {
    const half = takeTyped(NO_FILTER, "index server:do", false);
    expect(half, "not before a blank follows").toMatchObject({
      text: "index server:do",
      filter: { text: "index", servers: [] },
    });
    const whole = takeTyped(NO_FILTER, "index server:docs ", false);
    expect(whole).toMatchObject({ text: "index", filter: { text: "index", servers: ["docs"] } });
    expect(takeTyped(NO_FILTER, "is:held", true).filter.flags, "Enter finishes it").toEqual(["held"]);
    expect(takeTyped(NO_FILTER, "http://host/x", false).filter.text, "an address is words").toBe("http://host/x");
  });

  test("a_wrong_condition_stays_where_it_was_typed_and_says_what_is_wrong", () => {
    const wrong = takeTyped(NO_FILTER, "older:soon report ", false);
    expect(wrong.text).toBe("older:soon report");
    expect(wrong.problems[0]).toContain("`soon`");
    expect(wrong.filter).toMatchObject({ text: "report", olderThanMs: null });
  });

  test("what_may_follow_is_offered_and_taken_in_the_place_of_the_last_word", () => {
    expect(offers("", NO_FILTER, known)).toEqual(["is:held", "is:needs-you", "server:", "agent:"]);
    expect(offers("ser", NO_FILTER, known)).toEqual(["server:"]);
    expect(offers("server:", NO_FILTER, known)).toEqual(["server:docs", "server:github"]);
    expect(offers("agent:my", NO_FILTER, known), "a name with a blank is quoted").toEqual(['agent:"my agent"']);
    expect(offers("is:", { ...NO_FILTER, flags: ["held"] }, known), "not what is set").toEqual([
      "is:agent-gone",
      "is:needs-you",
      "is:hidden",
    ]);
    expect(offers("index", NO_FILTER, known), "beside words, what people look for most").toContain("is:held");
    expect(withOffer("index", "is:held"), "the word stays").toBe("index is:held ");
    expect(withOffer("report ser", "server:")).toBe("report server:");
    expect(withOffer("report server:", "server:docs")).toBe("report server:docs ");
  });
});

describe("spans", () => {
  test("are_written_in_the_largest_whole_unit", () => {
    expect([90_000, 600_000, 7_200_000, 86_400_000, 604_800_000].map(writeSpan)).toEqual([
      "90s",
      "10m",
      "2h",
      "1d",
      "1w",
    ]);
  });
  test("nonsense_is_no_span", () => {
    expect(["", "10", "m", "-3m", "0s", "1e3m", "99999w"].map(readSpan)).toEqual(Array.from({ length: 7 }, () => null));
  });
});

describe("conditions", () => {
  test("only_set_ones_are_chips_and_each_can_be_taken_away", () => {
    const { filter } = parseFilter("phase:failed changed:today x group:agent");
    expect(conditions(filter)).toEqual(["phases", "text", "changed"]);
    expect(conditions(withoutCondition(filter, "phases"))).toEqual(["text", "changed"]);
    expect(withoutCondition(filter, "text").groupBy, "grouping is not a condition").toBe("agent");
  });

  test("today_begins_at_midnight_here", () => {
    const noon = new Date(2026, 10, 21, 12, 0, 30).getTime();
    const asked = toListQuery(parseFilter("changed:today").filter, noon);
    expect(asked.changedWithinMs, "twelve hours and the minute that runs").toBe((12 * 60 + 1) * 60_000);
  });
});

describe("views", () => {
  const figures = {
    all: 14,
    open: 13,
    needsYou: 4,
    working: 8,
    cancelling: 0,
    noNews: 3,
    late: 1,
    gone: 2,
    held: 1,
    finished: 0,
    failed: 0,
    hidden: 0,
  };
  const totals: Totals = {
    figures,
    inbox: { items: 5, hidden: 0, moreQuestions: 0 },
    byPhase: {},
    byGroup: { needsYou: 4, moving: 8, noNews: 3, finished: 0 },
  };

  test("every_phase_stands_in_exactly_one_group", () => {
    expect(GROUPS.flatMap((group) => GROUP_PHASES[group]).sort()).toEqual([...ALL_PHASES].sort());
  });

  test("every_view_has_a_count_and_none_is_made_here", () => {
    const counted = new Map(
      SYSTEM_VIEWS.filter((view) => view.figure === null).map((view, at) => [view.query, 100 + at]),
    );
    const counts = Object.fromEntries(SYSTEM_VIEWS.map((view) => [view.name, countOf(view, totals, counted)]));
    expect(counts).toEqual({
      All: 14,
      Open: 13,
      "Needs you": 4,
      Working: 8,
      Cancelling: 0,
      "No news": 3,
      Late: 1,
      "Agent gone": 2,
      "Result held": 1,
      "Failed today": 100,
      "Ended today": 101,
    });
    expect(countOf(SYSTEM_VIEWS[2] ?? ALL_VIEW, null, counted), "before the core said anything").toBe(null);
  });

  test("a_changed_filter_says_from_which_view_it_came", () => {
    expect(currentView(SYSTEM_VIEWS, "Working", "phase:running,answering server:ci")).toMatchObject({
      view: { name: "Working" },
      edited: true,
    });
    expect(currentView(SYSTEM_VIEWS, null, formatFilter(parseFilter("phase:cancelling").filter))).toMatchObject({
      view: { name: "Cancelling" },
      edited: false,
    });
    expect(currentView(SYSTEM_VIEWS, "gone", "server:ci")).toMatchObject({ view: { name: "All" }, edited: true });
  });

  test("a_stored_view_of_any_shape_is_a_view", () => {
    const at = "2026-11-21T00:00:00.000Z";
    const own = ownViews([
      { kind: "view", key: "b", value: { query: "server:ci   phase:failed" }, changedAt: at },
      { kind: "view", key: "a", value: null, changedAt: at },
      { kind: "draft", key: "x", value: {}, changedAt: at },
    ]);
    expect(own.map(({ name, query }) => [name, query])).toEqual([
      ["a", ""],
      ["b", "phase:failed server:ci"],
    ]);
  });

  test("the_address_keeps_filter_and_view", () => {
    const asked = { query: 'phase:failed tool:"a b"', view: "Failed today" };
    expect(readSearch(writeSearch(asked))).toEqual(asked);
    expect(writeSearch({ query: "", view: "All" })).toBe("");
  });
});
