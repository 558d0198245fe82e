export { Act } from "./act.svelte";
export { Announcer, getAnnouncer, setAnnouncer } from "./announcer.svelte";
export { getStarting, setStarting, Starting, type StartWish } from "./starting.svelte";
export { getToasts, sentence, setToasts, Toasts, type Toast } from "./toasts.svelte";
