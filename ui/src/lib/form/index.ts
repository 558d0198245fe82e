/* Forms made from a server's schema: for answers in the inbox and for arguments of tools. */
export { default as SchemaForm } from "./SchemaForm.svelte";
export { FormState } from "./form-state.svelte";
export { readDraft, type Draft } from "./draft";
export { isObject, readJson, type Json, type JsonObject } from "./json";
