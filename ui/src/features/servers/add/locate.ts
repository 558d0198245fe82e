/* Which program a typed command means: the core finds it, so that a person agrees to a full path. Pure. */
import type { AddressDto, LocateProgram } from "$lib/bindings";

/** What the core found for one command; `program` is null when there is none. */
export interface Located {
  readonly command: string;
  readonly cwd?: string | null;
  readonly program: string | null;
}

/** What is to be asked of the core; null where the address says it already. */
export function toLocate(address: AddressDto | null): LocateProgram | null {
  if (address?.kind !== "stdio" || address.command.startsWith("/")) return null;
  return { command: address.command, cwd: address.cwd };
}

/** The address with the program that was found for it; as it was typed while none is known. */
export function withProgram(address: AddressDto | null, found: Located | null): AddressDto | null {
  if (address?.kind !== "stdio" || !found?.program) return address;
  if (found.command !== address.command || (found.cwd ?? null) !== address.cwd) return address;
  return { ...address, command: found.program };
}
