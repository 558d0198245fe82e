export { Action } from "./action.svelte";
export { Announcer, getAnnouncer, setAnnouncer } from "./announcer.svelte";
export { getStartRequests, setStartRequests, StartRequests, type StartRequest } from "./start-request.svelte";
export { getToasts, sentence, setToasts, Toasts, type Toast } from "./toasts.svelte";
export { focusIfLost } from "./focus-if-lost";
