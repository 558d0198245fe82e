/* The current place. The address bar is the only state, so the back button works. */
import { readHash, writeHash, type Place, type Route } from "./route";

const HOME: Route = { place: "inbox", id: null, search: "" };

class Router {
  #here = $state.raw<Route>(HOME);

  get place(): Place {
    return this.#here.place;
  }

  /** What is open in the place; null for none. */
  get id(): string | null {
    return this.#here.id;
  }

  /** What follows `?`; empty for none. */
  get search(): string {
    return this.#here.search;
  }

  start(): () => void {
    const read = () => this.#read(location.hash);
    addEventListener("hashchange", read);
    read();
    return () => removeEventListener("hashchange", read);
  }

  /** A new step: *back* returns from it. Within a place its filter stays. */
  go(place: Place, id: string | null = null, search = this.#kept(place)): void {
    this.open(writeHash({ place, id, search }));
  }

  /** The same step with something else open, as when `j` moves through a list. */
  replace(place: Place, id: string | null = null, search = this.#kept(place)): void {
    history.replaceState(history.state, "", writeHash({ place, id, search }));
    this.#read(location.hash);
  }

  /** An address from outside; one that means nothing is ignored. */
  open(hash: string): void {
    const to = readHash(hash);
    if (to === null) return;
    if (location.hash !== writeHash(to)) location.hash = writeHash(to);
    this.#here = to;
  }

  href(place: Place, id: string | null = null, search = ""): string {
    return writeHash({ place, id, search });
  }

  #kept(place: Place): string {
    return place === this.#here.place ? this.#here.search : "";
  }

  #read(hash: string): void {
    this.#here = readHash(hash) ?? HOME;
  }
}

/** The page has one address. */
export const route = new Router();
