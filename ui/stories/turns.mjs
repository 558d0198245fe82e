/* In which themes and sizes a story or page is looked at, in which order, and for which of them it is loaded anew. */
const THEMES = ["light", "dark"];
const other = (theme) => (theme === "light" ? "dark" : "light");

/** All there is, each loaded anew. Geometry is the same in both themes: the smaller sizes are looked at in one, and in
    both for pictures. axe looks at the first size. */
export function looksOfWhole(story, isPictures) {
  return THEMES.flatMap((theme) =>
    (theme === "light" || isPictures ? story.sizes : story.sizes.slice(0, 1)).map((size) => ({
      theme,
      size,
      isLoaded: !size.isInPlace,
      isAxe: size === story.sizes[0],
    })),
  );
}

/** One theme, the first and the last size. After an odd turn the smaller comes first, so that the window keeps the size
    it has from one story to the next. What needs a click or a key is brought up for each. */
export function looksOfStory(story, turn) {
  const ends = story.sizes.filter((size, index) => index === 0 || index === story.sizes.length - 1);
  const isTouched = story.click.length + story.keys.length > 0;
  const looks = ends.map((size, at) => ({ size, isAxe: at === 0 }));
  if (Math.floor(turn / THEMES.length) % 2 === 1) looks.reverse();
  return looks.map((look, at) => ({ ...look, theme: THEMES[turn % THEMES.length], isLoaded: at === 0 || isTouched }));
}

/** Both themes at the first size, of which one is loaded, and one of the smaller sizes, which is loaded anew: a page that
    shrinks is not what a small window loads. The theme and the smaller size turn. What follows another size in place does. */
export function looksOfPage(story, turn) {
  const theme = THEMES[turn % THEMES.length];
  const [first, ...others] = story.sizes;
  const inPlace = others.filter((size) => size.isInPlace);
  const smaller = others.filter((size) => !size.isInPlace);
  const look = (size, more) => ({ theme, size, isLoaded: false, isAxe: false, ...more });
  return [
    look(first, { isLoaded: true, isAxe: true }),
    look(first, { isAxe: true, theme: other(theme) }),
    ...inPlace.map((size) => look(size, { theme: other(theme) })),
    look(smaller[Math.floor(turn / THEMES.length) % smaller.length], { isLoaded: true }),
  ];
}
