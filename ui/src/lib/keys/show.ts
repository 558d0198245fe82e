/* Keys as people read them on this system. */
const MAC = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

const NAMES: Readonly<Record<string, string>> = {
  Escape: "Esc", Enter: "⏎", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Shift: MAC ? "⇧" : "Shift", Control: "Ctrl",
  Alt: MAC ? "⌥" : "Alt", Meta: MAC ? "⌘" : "Super", $mod: MAC ? "⌘" : "Ctrl", " ": "Space",
};

/** `$mod+Enter` as "Ctrl ⏎", `g i` as "g then i". */
export function shown(key: string): string {
  return key
    .split(" ")
    .map((press) => press.split(/\+(?=.)/).map((part) => NAMES[part] ?? (part.length === 1 ? part : part.replace(/^Key/, ""))).join(" "))
    .join(" then ");
}
