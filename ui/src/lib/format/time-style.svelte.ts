/* How times are written: by 24 or 12 hours, and how long ago or when. Remembered in this browser, as the theme is: it is
   about who reads, not about what is stored. */
export type Hours = "24" | "12";
/** `ago`: how long ago, up to a day. `clock`: the time of day. */
export type Past = "ago" | "clock";

const KEY = "taskwarden.time";

class TimeStyle {
  #hours = $state<Hours>("24");
  #past = $state<Past>("ago");

  constructor() {
    try {
      const [hours, past] = (globalThis.localStorage.getItem(KEY) ?? "").split(" ");
      if (hours === "12") this.#hours = hours;
      if (past === "clock") this.#past = past;
    } catch {
      // Without storage the style is the usual one.
    }
  }

  get hours(): Hours {
    return this.#hours;
  }

  get past(): Past {
    return this.#past;
  }

  set(change: { hours?: Hours; past?: Past }): void {
    this.#hours = change.hours ?? this.#hours;
    this.#past = change.past ?? this.#past;
    try {
      globalThis.localStorage.setItem(KEY, `${this.#hours} ${this.#past}`);
    } catch {
      // It lasts as long as the page.
    }
  }
}

/** The page has one style. */
export const timeStyle = new TimeStyle();
