/* The places that are not the first screen. Each is loaded when it is opened (decision 0032). */
import { LazyPart } from "$lib/lazy/lazy-part.svelte";

export const PLACES = {
  servers: new LazyPart(() => import("./features/servers/Servers.svelte")),
  agents: new LazyPart(() => import("./features/agents/AgentsScreen.svelte")),
  budgets: new LazyPart(() => import("./features/budgets/Budgets.svelte")),
  audit: new LazyPart(() => import("./features/audit/Audit.svelte")),
  help: new LazyPart(() => import("./features/help/Help.svelte")),
  halt: new LazyPart(() => import("./features/halt/HaltScreen.svelte")),
  settings: new LazyPart(() => import("./features/settings/Settings.svelte")),
};
export const GET_STARTED = new LazyPart(() => import("./features/first-run/GetStarted.svelte"));
