/* The whole app on made-up data, place by place and state by state. The smallest size is 1280 x 800 at 200 % zoom. */
export const SIZES = [
  { width: 1280, height: 800 },
  { width: 900, height: 600 },
];
export const APP_SIZES = [...SIZES, { width: 720, height: 600 }, { width: 640, height: 400 }];
/** What a place does with a large screen. It follows the first size in place: loading anew would cost more. */
const WIDE = { width: 1920, height: 1080, isInPlace: true };
/** Of a story that is looked at in pictures; the checks of every story need only the two. */
export const PICTURE_SIZES = [...SIZES, { width: 720, height: 600, isInPlace: true }, WIDE];
const PLACE_SIZES = [SIZES[0], WIDE, ...APP_SIZES.slice(1)];
/** Of a place with very many rows: what rows do to the layout shows at these. */
const MANY_SIZES = [SIZES[0], WIDE, { width: 720, height: 600 }];

const page = (name, query, hash, more = {}) => ({
  name: `app/${name}`,
  url: (theme) => `/fake.html?still=1&theme=${theme}${query}#${hash}`,
  keys: [],
  click: [],
  sizes: APP_SIZES,
  ...more,
});

const place = (name, query, hash, more = {}) => page(name, query, hash, { sizes: PLACE_SIZES, ...more });
const many = (name, query, hash) => page(name, query, hash, { sizes: MANY_SIZES });

export const PAGES = [
  place("inbox", "", "/inbox"),
  place("inbox of 0", "&inbox=0", "/inbox"),
  place("inbox of 10,000", "&tasks=10000&inbox=10000", "/inbox"),
  place("tasks", "", "/tasks"),
  place("tasks with a drawer", "", "/tasks", { keys: ["j", "Enter"] }),
  place("tasks of 10,000", "&tasks=10000", "/tasks"),
  place("servers", "", "/servers"),
  many("servers of 10,000", "&servers=10000", "/servers"),
  place("a server", "", "/servers/warehouse"),
  place("agents", "", "/agents"),
  many("agents of 10,000", "&agents=10000", "/agents"),
  place("an agent", "", "/agents/agt_claude-code"),
  place("halted", "&tasks=52&halt", "/halt"),
  place("halted, tasks", "&tasks=52&halt", "/tasks"),
  place("halt dialog", "", "/halt/new"),
  place("halted and paused", "&tasks=52&halt&pause=1", "/halt"),
  place("paused", "&pause=1", "/tasks"),
  place("budgets", "", "/budgets"),
  place("budgets of 10,000", "&agents=10000", "/budgets"),
  place("audit", "", "/audit"),
  many("audit of 100,000", "&audit=100000", "/audit"),
  place("calls", "", "/audit/calls"),
  place("audit calls, one open", "", "/audit/calls-4100"),
  place("an audit row", "", "/audit/18199"),
  page("core lost, audit", "&connection=stale", "/audit"),
  place("settings", "", "/settings"),
  place("help", "", "/help"),
  place("get started", "", "/start"),
  place("first run", "&tasks=0&servers=0&inbox=0&file=1&mute=1", "/inbox"),
  place("core lost", "&connection=stale", "/tasks"),
  page("core lost with a drawer", "&connection=stale", "/tasks", { keys: ["j", "Enter"] }),
  place("core lost, inbox", "&connection=stale", "/inbox"),
  page("core lost, a list not read before", "&connection=stale", "/inbox", { keys: ["g", "t"] }),
  page("disk full", "&disk=full", "/tasks"),
  page("core never there", "&connection=lost", "/inbox"),
  page("connecting", "&connection=connecting", "/tasks"),
  page("palette", "", "/inbox", { keys: ["Control+k"] }),
  page("keys", "", "/tasks", { keys: ["?"] }),
  page("start a task", "", "/servers", { keys: ["s"] }),
  page("forced colours", "", "/tasks", { forced: true }),
];
