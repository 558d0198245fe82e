/* Text of the files that get copies of checkpoints. */
import { count } from "$lib/format/count";

export const ANCHORS = {
  title: "Copies of checkpoints",
  hint: "Each signed state of the log is copied to these files. A log that is changed or cut later contradicts them, so keep them on another disk.",
  failed: "The list could not be loaded.",
  covers: (rows: number) => `Up to row ${count(rows)}.`,
  unseen: "Not looked at yet.",
  beside: "It is on the disk of the registry: whoever can change one can change the other.",
  trouble: (why: string) => `The file ${why}.`,
  keepBoth: "Keep a copy of this file and of the data folder as evidence.",
  remove: "Remove",
  removeOne: (path: string) => `Copy nothing more to ${path}`,
  removed: (path: string) => `Nothing more is copied to ${path}. The file stays.`,
  path: "Add a file",
  pathHint: "Its whole path. It is made where there is none.",
  example: "/media/usb/taskwarden.notes",
  add: "Add",
  added: (path: string) => `Checkpoints are copied to ${path}.`,
};
