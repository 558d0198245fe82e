/* The keys of the task list. What they do is given by Tasks.svelte. */
import type { Binding } from "$lib/keys";
import { TASKS } from "$lib/text/tasks";
import type { TaskList } from "./list/task-list.svelte";

interface Acts {
  readonly list: TaskList;
  readonly hasDrawer: () => boolean;
  readonly move: (by: number) => void;
  readonly extend: (by: number) => void;
  readonly open: () => void;
  readonly selectAll: () => void;
  readonly search: () => void;
  readonly query: () => void;
  readonly cancel: () => void;
  readonly copy: () => void;
  readonly hide: () => void;
  /** Something lay over the page when the key went down: Esc closes that, not the drawer. */
  readonly isCovered: () => boolean;
  readonly leave: () => void;
}

export function taskKeys(acts: Acts): Binding[] {
  const { list } = acts;
  const words = TASKS.keys;
  const { group } = TASKS;
  const isOnRow = () => list.under !== undefined;
  const hasTask = () => acts.hasDrawer() || isOnRow();
  return [
    { key: "j", label: words.down, group, move: true, run: () => acts.move(1) },
    { key: "k", label: words.up, group, move: true, run: () => acts.move(-1) },
    { key: "g g", label: words.top, group, move: true, run: () => acts.move(-list.count) },
    { key: "Shift+G", label: words.bottom, group, move: true, run: () => acts.move(list.count) },
    { key: ["Enter", "o"], label: words.open, group, when: isOnRow, run: acts.open },
    {
      key: "x",
      label: words.select,
      group,
      when: isOnRow,
      run: () => list.under && list.toggleSelected(list.under.id),
    },
    { key: "Shift+J", label: words.extendDown, group, move: true, run: () => acts.extend(1) },
    { key: "Shift+K", label: words.extendUp, group, move: true, run: () => acts.extend(-1) },
    { key: "$mod+a", label: words.all, group, when: () => list.total > 0, run: acts.selectAll },
    { key: "/", label: words.filter, group, run: acts.search },
    { key: "q", label: words.query, group, run: acts.query },
    { key: "p", label: words.show, group, when: () => list.shown.pendingChanges > 0, run: () => list.release() },
    {
      key: "c",
      label: words.cancel,
      group,
      when: () => list.selectedCount > 0 || hasTask(),
      run: acts.cancel,
    },
    { key: "y", label: words.copy, group, when: hasTask, run: acts.copy },
    { key: "h", label: TASKS.hidden.key, group, when: () => list.selectedCount > 0 || hasTask(), run: acts.hide },
    {
      key: "Escape",
      label: words.clear,
      group,
      when: () => !acts.isCovered() && (acts.hasDrawer() || list.selectedCount > 0),
      run: acts.leave,
    },
  ];
}
