/* The pages of the documentation that come with the app. Each is loaded when it is opened. */
import type { DOC_PAGES } from "$lib/text/help/help";

export type DocPage = keyof typeof DOC_PAGES;

const LOAD: Readonly<Record<DocPage, () => Promise<{ default: string }>>> = {
  troubleshooting: () => import("../../../../src-tauri/docs/troubleshooting.md?raw"),
  agents: () => import("../../../../src-tauri/docs/agents.md?raw"),
  notifications: () => import("../../../../src-tauri/docs/notifications.md?raw"),
  security: () => import("../../../../src-tauri/docs/security.md?raw"),
};

export const isDocPage = (name: string | null): name is DocPage => name !== null && Object.hasOwn(LOAD, name);

export async function loadPage(page: DocPage): Promise<string> {
  return (await LOAD[page]()).default;
}

/** The page that a link of the documentation leads to; null for one that is not here. */
export function pageOfLink(to: string): DocPage | null {
  const name = /^([a-z-]+)\.md(?:#.*)?$/.exec(to)?.[1] ?? null;
  return isDocPage(name) ? name : null;
}
