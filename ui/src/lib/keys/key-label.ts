/* Keys as people read them on this system. */
const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES: Readonly<Record<string, string>> = {
  Escape: "Esc",
  Enter: "⏎",
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Shift: MAC ? "⇧" : "Shift",
  Control: "Ctrl",
  Alt: MAC ? "⌥" : "Alt",
  Meta: MAC ? "⌘" : "Super",
  $mod: MAC ? "⌘" : "Ctrl",
  " ": "Space",
  Period: ".",
};

/** `$mod+Enter` as "Ctrl ⏎", `$mod+k` as "Ctrl K", `g i` as "g then i". */
export function keyLabel(key: string): string {
  return key.split(" ").map(press).join(" then ");
}

function press(text: string): string {
  const parts = text.split(/\+(?=.)/);
  const last = parts[parts.length - 1] ?? "";
  // The sign is made with Shift; nobody needs to be told.
  const needed = /^[^\p{L}\p{N}]$/u.test(last) ? parts.filter((part) => part !== "Shift") : parts;
  return needed
    .map((part) => NAMES[part] ?? (part.length === 1 && needed.length > 1 ? part.toUpperCase() : part))
    .join(" ");
}
