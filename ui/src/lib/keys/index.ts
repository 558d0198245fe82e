export { getKeys, Keys, scope, setKeys } from "./keys.svelte";
export { keysOf, type Binding } from "./match";
export { keyLabel } from "./key-label";
