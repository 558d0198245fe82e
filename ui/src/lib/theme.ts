/* Light, dark, or as the system says. The last choice is kept in this browser, so that the first paint has it. */
import type { SettingsDto } from "$lib/bindings";

const KEY = "taskwarden.theme";

export function applyTheme(theme: SettingsDto["theme"]): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser without storage only loses the head start.
  }
}

/** Before anything is known from the core. */
export function applyKeptTheme(): void {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  } catch {
    // A browser without storage starts with the system theme.
  }
}
