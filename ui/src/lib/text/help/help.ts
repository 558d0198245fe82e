/* Text of the help. What the words of the screens mean is in glossary.ts. */
/** The pages of the documentation that the app brings along, by the name of their file. */
export const DOC_PAGES = {
  troubleshooting: "Troubleshooting",
  agents: "Agent programs",
  notifications: "Notifications",
  security: "Security and stored data",
} as const;

export const HELP = {
  title: "Help",
  parts: "Parts of the help",
  words: "Words",
  wordsNote: "What the words of the screens mean.",
  find: "Find a word",
  noWord: (typed: string) => `No word matches “${typed}”.`,
  keys: "Keys",
  keysNote: "Everything works by keyboard. Press ? on any screen for the keys that apply there.",
  showKeys: "Show all keys",
  check: "Something does not work?",
  checkNote: "The same checks as `taskwarden doctor`, with a cure for each problem.",
  openCheck: "Check this installation",
  docs: "Documentation",
  loadFailed: "The page could not be loaded.",
  loadFailedHow: "Open the file of this name in the folder `docs` that came with Taskwarden.",
  again: "Try again",
} as const;
