/* Text of the files, repositories and collectors that get copies of checkpoints. */
import type { AnchorKind } from "$lib/bindings";
import { count } from "$lib/format/count";

const KINDS: Readonly<Record<AnchorKind, string>> = { file: "file", git: "git repository", otlp: "collector" };

export const ANCHORS = {
  title: "Copies of checkpoints",
  hint: "Each signed state of the log is copied to these places. A log that is changed or cut later contradicts them, so keep them on another disk or send them to another machine.",
  failed: "The list could not be loaded.",
  covers: (kind: AnchorKind, rows: number) =>
    kind === "otlp"
      ? `It took the checkpoint of row ${count(rows)}. What it keeps is not read back.`
      : `Up to row ${count(rows)}.`,
  unseen: "Not looked at yet.",
  beside: "It is on the disk of the registry: whoever can change one can change the other.",
  kind: (kind: AnchorKind, remote: string | null) =>
    remote === null ? `(${KINDS[kind]})` : `(${KINDS[kind]}, pushed to ${remote})`,
  trouble: (kind: AnchorKind, why: string) => `The ${KINDS[kind]} ${why}.`,
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
    otlp: {
      name: "Collector",
      hint: "Its address. Each checkpoint is a log record. One that wants a header is added in a terminal, with taskwarden audit anchors add otlp URL --header NAME.",
      example: "https://collector.example:4318",
    },
    address: "Address",
    remote: "Push to a remote",
    remoteHint: "Its name in the repository. Leave it empty to push nothing.",
    do: "Add",
  },
};
