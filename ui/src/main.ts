/* Starts the page: finds out what carries it and mounts the app. */
import { mount } from "svelte";
import { BrowserBackend } from "$lib/backend/http";
import { isWindow, WindowBackend } from "$lib/backend/tauri";
import "$lib/design/tokens.css";
import "$lib/design/base.css";
import { applyKeptTheme } from "$lib/theme";
import Door from "./Door.svelte";

applyKeptTheme();
const target = document.getElementById("app");
if (target) mount(Door, { target, props: { backend: isWindow() ? new WindowBackend() : new BrowserBackend() } });
