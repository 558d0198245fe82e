/* The whole app on made-up data, place by place and state by state. The smallest size is 1280 x 800 at 200 % zoom. */
export const SIZES = [
  { width: 1280, height: 800 },
  { width: 900, height: 600 },
];
export const APP_SIZES = [...SIZES, { width: 720, height: 600 }, { width: 640, height: 400 }];

const page = (name, query, hash, more = {}) => ({
  name: `app/${name}`,
  url: (theme) => `/fake.html?still=1&theme=${theme}${query}#${hash}`,
  keys: [],
  click: [],
  sizes: APP_SIZES,
  ...more,
});

export const PAGES = [
  page("inbox", "", "/inbox"),
  page("inbox of 0", "&inbox=0", "/inbox"),
  page("inbox of 10,000", "&tasks=10000&inbox=10000", "/inbox"),
  page("tasks", "", "/tasks"),
  page("tasks with a drawer", "", "/tasks", { keys: ["j", "Enter"] }),
  page("tasks of 10,000", "&tasks=10000", "/tasks"),
  page("servers", "", "/servers"),
  page("a server", "", "/servers/warehouse"),
  page("agents", "", "/agents"),
  page("an agent", "", "/agents/agt_000000"),
  page("budgets", "", "/budgets"),
  page("budgets of 10,000", "&agents=10000", "/budgets"),
  page("settings", "", "/settings"),
  page("first run", "&tasks=0&servers=0&inbox=0&file=1&mute=1", "/inbox"),
  page("core lost", "&connection=stale", "/tasks"),
  page("core lost with a drawer", "&connection=stale", "/tasks", { keys: ["j", "Enter"] }),
  page("core lost, inbox", "&connection=stale", "/inbox"),
  page("core lost, a list not read before", "&connection=stale", "/inbox", { keys: ["g", "t"] }),
  page("disk full", "&disk=full", "/tasks"),
  page("core never there", "&connection=lost", "/inbox"),
  page("connecting", "&connection=connecting", "/tasks"),
  page("palette", "", "/inbox", { keys: ["Control+k"] }),
  page("keys", "", "/tasks", { keys: ["?"] }),
  page("start a task", "", "/servers", { keys: ["s"] }),
  page("forced colours", "", "/tasks", { forced: true }),
];
