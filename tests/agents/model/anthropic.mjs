// Anthropic Messages as a model serves it: what Claude Code and opencode ask, and what they are streamed.

export const anthropic = {
  /** Whether this path belongs to the API. */
  owns: (path) => path.startsWith('/v1/messages'),

  /** A request, in the words of `model.mjs`. */
  read(path, body) {
    if (path.includes('count_tokens')) return { kind: 'count' };
    const last = body.messages?.at(-1);
    const blocks = Array.isArray(last?.content) ? last.content : [];
    const results = blocks.filter((block) => block.type === 'tool_result').map((block) => ({
      id: block.tool_use_id,
      text: textOf(block.content),
      isError: block.is_error === true,
    }));
    const tools = (body.tools ?? []).filter((tool) => typeof tool.name === 'string' && tool.input_schema !== undefined);
    return {
      kind: 'turn',
      isStream: body.stream === true,
      results,
      tools: tools.map((tool) => ({ name: tool.name, stated: tool, isDeferred: tool.defer_loading === true })),
    };
  },

  /** The reply as events of a stream, or as one document. */
  write(turn, { isStream }) {
    const content = [
      ...(turn.text === '' ? [] : [{ type: 'text', text: turn.text }]),
      ...turn.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args })),
    ];
    const stop = turn.calls.length > 0 ? 'tool_use' : 'end_turn';
    const usage = { input_tokens: 10, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
    const message = { id: turn.id, type: 'message', role: 'assistant', model: 'scripted', content, stop_reason: stop, stop_sequence: null, usage };
    if (!isStream) return { document: message };
    const events = [{ type: 'message_start', message: { ...message, content: [], stop_reason: null } }];
    for (const [index, block] of content.entries()) {
      const isCall = block.type === 'tool_use';
      events.push({ type: 'content_block_start', index, content_block: isCall ? { ...block, input: {} } : { type: 'text', text: '' } });
      const delta = isCall ? { type: 'input_json_delta', partial_json: JSON.stringify(block.input) } : { type: 'text_delta', text: block.text };
      events.push({ type: 'content_block_delta', index, delta }, { type: 'content_block_stop', index });
    }
    events.push({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage }, { type: 'message_stop' });
    return { events: events.map((event) => ({ name: event.type, data: event })) };
  },

  /** The answer to a request to count tokens: nothing here is paid. */
  count: () => ({ input_tokens: 100 }),
};

function textOf(content) {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => part.text ?? JSON.stringify(part)).join('\n');
}
