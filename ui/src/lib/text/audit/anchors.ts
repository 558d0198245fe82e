/* Text of the files and repositories that get copies of checkpoints. */
import type { AnchorKind } from "$lib/bindings";
import { count } from "$lib/format/count";

export const ANCHORS = {
  title: "Copies of checkpoints",
  hint: "Each signed state of the log is copied to these places. A log that is changed or cut later contradicts them, so keep them on another disk or push them to another machine.",
  failed: "The list could not be loaded.",
  covers: (rows: number) => `Up to row ${count(rows)}.`,
  unseen: "Not looked at yet.",
  beside: "It is on the disk of the registry: whoever can change one can change the other.",
  git: (remote: string | null) => (remote === null ? "(git)" : `(git, pushed to ${remote})`),
  trouble: (kind: AnchorKind, why: string) => `The ${kind === "git" ? "repository" : "file"} ${why}.`,
  keepBoth:
    "Keep a copy of it and of the data folder as evidence. If you put an older copy of the registry back yourself, run `taskwarden audit checkpoint --new-epoch`: that puts it on record, and copies go on.",
  remove: "Remove",
  removeOne: (path: string) => `Remove ${path}`,
  removed: (path: string) => `Nothing more is copied to ${path}. What is there stays.`,
  added: (path: string) => `Checkpoints are copied to ${path}.`,
  add: {
    title: "Add a place",
    path: "Path",
    file: {
      name: "File",
      hint: "The whole path. The file is made where there is none.",
      example: "/media/usb/taskwarden.notes",
    },
    git: {
      name: "Git repository",
      hint: "The whole path of its folder. Each checkpoint is a commit on the branch taskwarden-checkpoints.",
      example: "/home/ada/proofs",
    },
    remote: "Push to a remote",
    remoteHint: "Its name in the repository. Leave it empty to push nothing.",
    do: "Add",
  },
};
