export { Act } from "./act.svelte";
export { Announcer, getAnnouncer, setAnnouncer } from "./announcer.svelte";
export { getToasts, sentence, setToasts, Toasts, type Toast } from "./toasts.svelte";
