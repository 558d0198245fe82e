/* The actions of the drawer's menu that fit the task now. What each does is the drawer's. Pure. */
import type { TaskDto } from "$lib/bindings";
import { singleLine } from "$lib/design/text/plain-text";
import { mayBeHidden } from "$lib/task/hide";
import { TASK } from "$lib/text/task";

export interface DrawerActions {
  /** The core does not answer: only copying works. */
  readonly isLost: boolean;
  readonly copyId: () => void;
  readonly copyLink: () => void;
  readonly copyCommand: () => void;
  readonly poll: () => void;
  readonly hold: () => void;
  readonly revoke: () => void;
  readonly isHidden: boolean;
  readonly hide: () => void;
  readonly unhide: () => void;
}

export interface MenuItem {
  readonly key: string;
  readonly label: string;
  readonly kbd?: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly run: () => void;
}

export function drawerMenu(task: TaskDto | null, actions: DrawerActions): readonly MenuItem[] {
  const { isLost, copyId, copyLink, copyCommand, poll, hold, revoke, isHidden, hide, unhide } = actions;
  const items: MenuItem[] = [
    { key: "id", label: TASK.actions.copyId, kbd: "y", run: copyId },
    { key: "link", label: TASK.actions.copyLink, kbd: "⇧Y", run: copyLink },
  ];
  if (task?.tool != null) {
    items.push({ key: "command", label: TASK.actions.copyCommand, disabled: isLost, run: copyCommand });
  }
  if (task === null) return items;
  if (isHidden) items.push({ key: "unhide", label: TASK.hidden.unhide, disabled: isLost, run: unhide });
  else if (mayBeHidden(task)) items.push({ key: "hide", label: TASK.hidden.hide, disabled: isLost, run: hide });
  if (task.over) return items;
  items.push({ key: "poll", label: TASK.actions.poll, disabled: isLost, run: poll });
  if (task.agent === null || task.intent?.kind === "revoked") return items;
  if (task.held === null) items.push({ key: "hold", label: TASK.hold.hold, disabled: isLost, run: hold });
  const label = TASK.actions.revoke(singleLine(task.agent, 80));
  items.push({ key: "revoke", label, danger: true, disabled: isLost, run: revoke });
  return items;
}
