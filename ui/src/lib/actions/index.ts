export { Act } from "./action.svelte";
export { Announcer, getAnnouncer, setAnnouncer } from "./announcer.svelte";
export { getStarting, setStarting, Starting, type StartWish } from "./start-request.svelte";
export { getToasts, sentence, setToasts, Toasts, type Toast } from "./toasts.svelte";
