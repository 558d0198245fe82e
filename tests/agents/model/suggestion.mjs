// What a result tells its reader to do next, read from its words alone, as a model has to.
//
// A suggestion is the name of a task tool with JSON arguments close behind it, or an offset at which a result continues.
// Nothing here knows which handle belongs to which call.

/** Between a tool's name and its arguments may stand a few words. */
const CALL = /(tasks_[a-z]+)`?[^{}`]{0,40}`?(\{[^{}]*\})/g;
const OFFSET = /continue (?:with|at) (?:`?tasks_result`? (?:and|at) )?"?offset"?:? (\d+)/;

/** The text as it was before a program put it into a JSON string of its own. */
function unescaped(text) {
  return text.includes('\\"') ? text.replaceAll('\\"', '"').replaceAll('\\n', '\n') : text;
}

/** The first call that a text suggests; `before` is the call that it answers. Null when it suggests none. */
export function suggestedCall(text, before) {
  const plain = unescaped(text);
  for (const [, name, json] of plain.matchAll(CALL)) {
    try {
      return { name, args: JSON.parse(json) };
    } catch {
      // Braces that are no arguments.
    }
  }
  const offset = OFFSET.exec(plain)?.[1];
  if (offset !== undefined && typeof before?.args?.task === 'string') {
    return { name: 'tasks_result', args: { task: before.args.task, offset: Number(offset) } };
  }
  return null;
}
