/* Names of the symbols in icons.svg: 16 grid, 1.5 stroke, round ends, no fill. A test keeps both equal. */
export const ICONS = [
  "speech", "clock", "question", "key", "ring", "arrow-up", "ring-bar", "check", "check-broken", "cross", "bar",
  "lock", "eye-bar", "ring-dashed", "cross-dashed", "mark", "inbox", "tasks", "servers", "search", "theme", "chev",
  "down", "plus", "more", "copy", "link", "form", "hand", "plug", "terminal", "down-tray", "person", "bell", "pause",
  "undo", "play", "snooze", "filter", "pulse", "seal", "file", "warn", "clock-dashed", "settings", "refresh",
  "keyboard", "back", "moon", "sun", "trash", "star", "eye", "info", "fold", "agents", "gauge",
] as const;

export type IconName = (typeof ICONS)[number];
