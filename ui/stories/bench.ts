/* The app on a large and restless made-up core: `bench.html?tasks=100000&changes=5000#/tasks`. A script outside
   reads `window.bench` and the browser's own figures. */
import { mount } from "svelte";
import App from "../src/App.svelte";
import { fake, type FakeBackend } from "$lib/backend/fake";
import "$lib/design/tokens.css";
import "$lib/design/base.css";

const query = new URLSearchParams(location.search);
const backend = fake({
  tasks: Number(query.get("tasks") ?? 100_000), inbox: Number(query.get("inbox") ?? 30), servers: 5, changesPerSecond: Number(query.get("changes") ?? 0),
});
const target = document.getElementById("app");
if (target) mount(App, { target, props: { backend } });

declare global {
  interface Window {
    bench: FakeBackend;
  }
}
window.bench = backend;
