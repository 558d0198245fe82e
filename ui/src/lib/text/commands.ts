/* Words of the palette and of the panel of keys. */
export const COMMANDS = {
  palette: "Search and commands",
  placeholder: "Type a command, a task, a server…",
  nothing: "Nothing is called that.",
  searching: "Looking for tasks…",
  found: (n: number) => `${n} ${n === 1 ? "result" : "results"}`,
  groups: { waiting: "Waiting for you", tasks: "Tasks", servers: "Servers" },
  /** Items that came without words of the server. */
  waits: {
    form: (name: string) => `${name} asks a question`,
    url: (name: string) => `${name} asks you to open a page`,
    unsupported: (name: string) => `${name} asks for something that Taskwarden cannot do`,
    overdue: (name: string) => `${name} is later than agreed`,
    lost: (name: string) => `${name} is lost by its server`,
    unconfirmed: (name: string) => `${name} was not confirmed by its server`,
    blocked: (name: string) => `${name} needs sign-in`,
    overLimit: (name: string) => `${name} went past its limit of tokens`,
    held: (name: string) => `${name} has a result that waits for you`,
  },
  keys: "Keys",
  keysAbout: "A single letter works while no field has focus.",
  keysSearch: "Search keys",
  noKey: "No key is called that.",
  back: "Back",
} as const;
