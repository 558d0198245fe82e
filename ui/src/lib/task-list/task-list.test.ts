import { describe, expect, test } from "vitest";
import {
  addToSelection,
  ALL_MATCHING,
  NOTHING_DISPLAYED,
  hasPage,
  displayedId,
  isSelected,
  loadedList,
  NOTHING_SELECTED,
  rowNumberOf,
  PAGE,
  pagesOf,
  positionAt,
  displayLatest,
  selectionSize,
  loadedRows,
  toggleSelected,
  updateDisplayed,
  withPage,
  type LoadedList,
  type DisplayedList,
} from "./index";

/** A list that is loaded whole, from its groups. */
function whole(groups: Record<string, string[]>): LoadedList {
  const total = Object.values(groups).flat().length;
  const view = {
    total,
    all: total,
    groups: Object.entries(groups).map(([group, ids]) => ({ group, count: ids.length })),
  };
  const pages = Object.entries(groups).flatMap(([group, ids]) =>
    pagesOf(group, 0, ids.length).map((at) => ({ ...at, ids: ids.slice(at.page * PAGE, (at.page + 1) * PAGE) })),
  );
  return loadedList(view, pages);
}

function seen(shown: DisplayedList): Record<string, (string | undefined)[]> {
  return Object.fromEntries(
    shown.sections.map((section, at) => [
      section.group,
      Array.from({ length: section.count }, (_, index) => displayedId(shown, at, index)),
    ]),
  );
}

describe("a list that changes under a person's eye", () => {
  const before = { needs: ["a", "b"], moving: ["c", "d", "e"], done: ["f"] };

  test("without_a_focused_row_everything_shows_at_once", () => {
    const after = { needs: ["x", "a", "b"], moving: ["c", "e"], done: ["d", "f"] };
    const next = updateDisplayed(displayLatest(whole(before)), whole(after), null);
    expect(seen(next)).toEqual(after);
    expect(next.pendingChanges).toBe(0);
  });

  test("below_the_focused_row_changes_show_at_once", () => {
    const after = { needs: ["a", "b"], moving: ["c", "d"], done: ["e", "f"] };
    const next = updateDisplayed(displayLatest(whole(before)), whole(after), { group: "moving", index: 0 });
    expect(seen(next)).toEqual(after);
    expect(next.pendingChanges, "nothing waits").toBe(0);
  });

  test("a_new_row_above_waits_and_pushes_nothing", () => {
    const after = { needs: ["x", "a", "b"], moving: ["y", "c", "d", "e"], done: ["g", "f"] };
    const next = updateDisplayed(displayLatest(whole(before)), whole(after), { group: "moving", index: 1 });
    expect(seen(next)).toEqual({ needs: ["a", "b"], moving: ["c", "d", "e"], done: ["g", "f"] });
    expect(next.pendingChanges, "one row in each of two groups").toBe(2);
    expect(seen(displayLatest(next.live)), "`p` shows all of it").toEqual(after);
  });

  test("a_group_that_appears_above_waits", () => {
    const next = updateDisplayed(
      displayLatest(whole({ moving: ["c", "d"] })),
      whole({ needs: ["x"], moving: ["c", "d"] }),
      {
        group: "moving",
        index: 1,
      },
    );
    expect(seen(next)).toEqual({ moving: ["c", "d"] });
    expect(next.pendingChanges).toBe(1);
  });

  test("changes_above_add_up_while_they_wait", () => {
    const anchor = { group: "moving", index: 1 };
    const once = updateDisplayed(
      displayLatest(whole(before)),
      whole({ ...before, moving: ["y", "c", "d", "e"] }),
      anchor,
    );
    const twice = updateDisplayed(once, whole({ ...before, moving: ["z", "y", "c", "d"], done: ["e", "f"] }), anchor);
    expect(seen(twice)).toEqual({ needs: ["a", "b"], moving: ["c", "d"], done: ["e", "f"] });
    expect(twice.pendingChanges).toBe(2);
  });

  test("a_focused_row_that_leaves_its_group_stays_until_the_person_moves", () => {
    const after = { needs: ["a", "b"], moving: ["c", "e"], done: ["g", "f"] };
    const next = updateDisplayed(displayLatest(whole(before)), whole(after), { group: "moving", index: 1 });
    expect(seen(next), "`d` stands where it stood, what is below is new").toEqual({
      needs: ["a", "b"],
      moving: ["c", "d", "e"],
      done: ["g", "f"],
    });
    expect(next.pendingChanges).toBe(1);
  });

  test("a_row_never_stands_twice", () => {
    const after = { needs: ["b"], moving: ["c", "d", "e"], done: ["a", "f"] };
    const next = updateDisplayed(displayLatest(whole(before)), whole(after), { group: "moving", index: 1 });
    expect(seen(next), "`a` would be above and below, so all of it waits").toEqual(before);
    expect(next.pendingChanges).toBe(1);
  });

  test("rows_that_change_places_above_wait_as_well", () => {
    const next = updateDisplayed(displayLatest(whole(before)), whole({ ...before, needs: ["b", "a"] }), {
      group: "moving",
      index: 0,
    });
    expect(seen(next)).toEqual(before);
    expect(next.pendingChanges).toBe(2);
  });

  test("when_the_focused_group_is_gone_nothing_is_lost", () => {
    const next = updateDisplayed(displayLatest(whole({ moving: ["c"] })), whole({ done: ["c"] }), {
      group: "moving",
      index: 0,
    });
    expect(next.pendingChanges).toBeGreaterThan(0);
    expect(seen(displayLatest(next.live))).toEqual({ done: ["c"] });
  });

  test("any_walk_of_changes_ends_at_the_truth", () => {
    let seed = 7;
    const roll = (to: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % to;
    };
    const groups = ["needs", "moving", "done"];
    const state: Record<string, string[]> = { needs: [], moving: [], done: [] };
    let shown: DisplayedList = NOTHING_DISPLAYED;
    for (let step = 0; step < 500; step += 1) {
      const from = state[groups[roll(3)] ?? ""] ?? [];
      const to = state[groups[roll(3)] ?? ""] ?? [];
      const [moved] = from.splice(roll(Math.max(1, from.length)), 1);
      to.unshift(roll(2) === 0 || moved === undefined ? `t${step}` : moved);
      const anchor = roll(3) === 0 ? null : { group: groups[roll(3)] ?? "", index: roll(4) };
      shown = updateDisplayed(shown, whole(state), anchor);
      const all = Object.values(seen(shown))
        .flat()
        .filter((id) => id !== undefined);
      expect(new Set(all).size, `no row twice after step ${step}`).toBe(all.length);
    }
    expect(Object.entries(seen(displayLatest(shown.live))).filter(([, ids]) => ids.length > 0)).toEqual(
      Object.entries(state).filter(([, ids]) => ids.length > 0),
    );
  });
});

describe("pages", () => {
  test("a_sight_asks_for_the_pages_it_touches", () => {
    expect(pagesOf("g", 95, 205).map((at) => at.page)).toEqual([0, 1, 2]);
    expect(pagesOf("g", 5, 5)).toEqual([]);
  });

  test("only_so_many_pages_are_kept", () => {
    let list = loadedList({ total: 100_000, all: 100_000, groups: [{ group: "g", count: 100_000 }] }, []);
    for (let page = 0; page < 1_000; page += 1) list = withPage(list, { group: "g", page, ids: [`id-${page}`] });
    expect(list.pages.size).toBeLessThanOrEqual(60);
    expect(hasPage(list, { group: "g", page: 999 }), "the newest is kept").toBe(true);
    expect(loadedRows(list)).toHaveLength(60);
  });

  test("folded_groups_take_no_number", () => {
    const { sections } = displayLatest(whole({ a: ["1", "2"], b: ["3"], c: ["4", "5"] }));
    const folded = new Set(["a"]);
    expect(positionAt(sections, folded, 1)).toEqual({ section: 2, index: 0 });
    expect(rowNumberOf(sections, folded, "c", 1)).toBe(2);
    expect(rowNumberOf(sections, folded, "a", 0)).toBe(-1);
  });
});

describe("a choice", () => {
  const loaded = () => ["a", "b", "c"];
  test("all_matching_is_everything_that_matches", () => {
    expect([isSelected(ALL_MATCHING, "z"), selectionSize(ALL_MATCHING, 1_204)]).toEqual([true, 1_204]);
  });
  test("one_taken_out_of_all_leaves_those_known_by_name", () => {
    const selection = toggleSelected(ALL_MATCHING, "a", loaded);
    expect([isSelected(selection, "a"), isSelected(selection, "b"), selectionSize(selection, 1_204)]).toEqual([
      false,
      true,
      2,
    ]);
    expect(selectionSize(addToSelection(selection, ["a"]), 1_204)).toBe(3);
  });
  test("a_second_press_takes_it_back", () => {
    expect(selectionSize(toggleSelected(toggleSelected(NOTHING_SELECTED, "a", loaded), "a", loaded), 9)).toBe(0);
  });
});
