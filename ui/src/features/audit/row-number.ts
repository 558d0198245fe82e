/* The number of a row in an address. Pure. */

/** Null for what is no number of a row: such an address opens none. */
export function rowNumber(id: string | null): number | null {
  return id !== null && /^[1-9]\d{0,14}$/.test(id) ? Number(id) : null;
}
