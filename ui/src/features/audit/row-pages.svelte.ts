/* Rows of the audit log or receipts of calls as they are read, newest first, page by page towards the first. It renders
   nothing. */
import type { ApiError, AuditFilterDto, AuditRowDto } from "$lib/bindings";
import { apiError, type Backend } from "$lib/backend/backend";

/** Rows of one page: a screen and what is scrolled next. */
export const PAGE = 100;
/** Pages without a match that are read before the person is asked. The core looks at 500,000 rows for each. */
const EMPTY_PAGES = 3;

interface Page<Row> {
  readonly rows: Row[];
  readonly next: number | null;
  readonly first: number;
  readonly last: number;
}
/** Reads one page. */
type ReadPage<Filter, Row> = (asked: { filter: Filter; before: number | null; limit: number }) => Promise<Page<Row>>;
/** Pages of the log itself. */
export type AuditPages = RowPages<AuditFilterDto, AuditRowDto>;

export const auditPages = (backend: Backend, filter: AuditFilterDto): AuditPages =>
  new RowPages((asked) => backend.call("audit.list", asked), filter);

export class RowPages<Filter, Row> {
  rows = $state.raw<readonly Row[]>([]);
  /** Where the next page begins; null once all of it was read. */
  next = $state.raw<number | null>(null);
  /** The rows that the log has, as of the last page: numbers of the first and the last; 0 without rows. */
  first = $state.raw(0);
  last = $state.raw(0);
  /** Whether a page of this filter has come. */
  isRead = $state.raw(false);
  isLoading = $state.raw(false);
  /** Several pages had no match: the person decides whether to go on. */
  isPaused = $state.raw(false);
  error = $state.raw<ApiError | null>(null);
  readonly #read: ReadPage<Filter, Row>;
  #filter: Filter;
  /** Raised by `reset`: answers to an earlier filter count for nothing. */
  #turn = 0;

  constructor(read: ReadPage<Filter, Row>, filter: Filter) {
    this.#read = read;
    this.#filter = filter;
  }

  /** Whether these are rows of this filter. */
  isFor(filter: Filter): boolean {
    return JSON.stringify(filter) === JSON.stringify(this.#filter);
  }

  /** Begins anew with the newest rows. What is shown stays until they are there, unless the filter is another. */
  async reset(filter: Filter): Promise<void> {
    this.#turn += 1;
    if (!this.isFor(filter)) {
      this.#filter = filter;
      this.rows = [];
      this.next = null;
      this.isRead = false;
    }
    this.isPaused = false;
    await this.#load(null);
  }

  /** The next page is in sight. */
  async more(): Promise<void> {
    if (this.next !== null && !this.isLoading && !this.isPaused && this.error === null) await this.#load(this.next);
  }

  /** Reads on after a pause or a failure. */
  async goOn(): Promise<void> {
    this.isPaused = false;
    this.error = null;
    if (this.isRead) await this.more();
    else await this.#load(null);
  }

  async #load(from: number | null): Promise<void> {
    const turn = this.#turn;
    this.isLoading = true;
    this.error = null;
    let before = from;
    try {
      for (let empty = 0; ;) {
        const page = await this.#read({ filter: this.#filter, before, limit: PAGE });
        if (turn !== this.#turn) return;
        this.#take(page, before === null);
        if (page.rows.length > 0 || page.next === null) break;
        before = page.next;
        empty += 1;
        if (empty < EMPTY_PAGES) continue;
        this.isPaused = true;
        break;
      }
    } catch (thrown) {
      if (turn === this.#turn) this.error = apiError(thrown);
    } finally {
      if (turn === this.#turn) this.isLoading = false;
    }
  }

  #take(page: Page<Row>, isFirst: boolean): void {
    this.rows = isFirst ? page.rows : [...this.rows, ...page.rows];
    this.next = page.next;
    this.first = page.first;
    this.last = page.last;
    this.isRead = true;
  }
}
