/* How a server stands: allowed or not, signed in or not, and its health. The servers' list, its order and the status bar
   say and count the same because they all ask here. Pure. */
import type { HealthDto, ServerDto } from "$lib/bindings";

export type Standing = "notAgreed" | "frozen" | HealthDto["kind"];

export function standing(server: ServerDto): Standing {
  if (!server.agreed) return "notAgreed";
  // Its processes stand still, whatever its connection says.
  if (server.frozen) return "frozen";
  // A server that answers some calls may ask for a sign-in all the same.
  return needsSignIn(server) ? "blocked" : server.health.kind;
}

/** A header that is a secret of its own takes the place of a sign-in. */
export function takesSignIn({ address }: ServerDto): boolean {
  return address.kind === "http" && !address.secretHeaders.some((name) => name.toLowerCase() === "authorization");
}

export function needsSignIn(server: ServerDto): boolean {
  return server.agreed && takesSignIn(server) && server.signIn?.state === "needed";
}
