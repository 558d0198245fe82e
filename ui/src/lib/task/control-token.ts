/* Who acted, where the core names a control token in place of a person. Pure. */

const PREFIX = "control:";

/** The token's name where the core knows it, else its id; null for everybody else. */
export function controlToken(who: string | null): string | null {
  return who?.startsWith(PREFIX) ? who.slice(PREFIX.length) : null;
}
