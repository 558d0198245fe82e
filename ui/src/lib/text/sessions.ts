/* Words of the browsers that are signed in. */
export const SESSIONS = {
  title: "Signed-in browsers",
  note: "Shown is what each browser calls itself. A session expires by itself, and ends at once when you revoke it.",
  none: "No browser is signed in. `taskwarden ui` prints a code for one.",
  failed: "The sessions could not be read.",
  again: "Try again",
  current: "this browser",
  signedIn: (when: string) => `Signed in ${when}`,
  used: (when: string) => `used ${when}`,
  revoke: "Revoke",
  revokeOne: (browser: string) => `Revoke the session of ${browser}`,
  revokeOthers: "Revoke all others",
  revokeAll: "Revoke all",
  done: (many: number) => (many === 1 ? "1 browser is signed out." : `${many} browsers are signed out.`),
};
