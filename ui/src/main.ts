/* Starts the page: finds out what carries it and mounts the app. */
import { mount } from "svelte";
import { BrowserBackend } from "$lib/backend/browser";
import { isWindow, WindowBackend } from "$lib/backend/window";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import { applyKeptTheme } from "$lib/theme";
import Root from "./Root.svelte";

applyKeptTheme();
const target = document.getElementById("app");
if (target) mount(Root, { target, props: { backend: isWindow() ? new WindowBackend() : new BrowserBackend() } });
