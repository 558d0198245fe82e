// OpenAI Responses as a model serves it: what Codex asks, and what it is streamed.

export const responses = {
  owns: (path) => path.startsWith('/v1/responses'),

  read(_path, body) {
    const input = Array.isArray(body.input) ? body.input : [];
    const lastCall = input.findLastIndex((item) => !String(item.type).endsWith('_output'));
    const outputs = input.slice(lastCall + 1).filter((item) => String(item.type).endsWith('_output'));
    const results = outputs.map((item) => ({ id: item.call_id, text: textOf(item.output ?? item.tools), isError: item.success === false }));
    // A server's tools may stand in a namespace of their own.
    const tools = (body.tools ?? []).flatMap((tool) =>
      tool.type === 'namespace'
        ? tool.tools.map((inner) => ({ name: inner.name, namespace: tool.name, stated: inner }))
        : [{ name: tool.name ?? tool.type, stated: tool }],
    );
    return { kind: 'turn', isStream: true, results, tools };
  },

  write(turn) {
    const items = [
      ...(turn.text === ''
        ? []
        : [{ type: 'message', id: `${turn.id}_m`, role: 'assistant', content: [{ type: 'output_text', text: turn.text, annotations: [] }] }]),
      ...turn.calls.map(({ id, name, namespace, args }) => ({
        type: 'function_call', id: `f${id}`, call_id: id, name, ...(namespace ? { namespace } : {}), arguments: JSON.stringify(args),
      })),
    ];
    const usage = { input_tokens: 10, input_tokens_details: null, output_tokens: 10, output_tokens_details: null, total_tokens: 20 };
    const events = [
      { type: 'response.created', response: { id: turn.id } },
      ...items.map((item) => ({ type: 'response.output_item.done', item })),
      { type: 'response.completed', response: { id: turn.id, usage } },
    ];
    return { events: events.map((event) => ({ name: event.type, data: event })) };
  },
};

function textOf(output) {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map((part) => part.text ?? JSON.stringify(part)).join('\n');
  return typeof output?.content === 'string' ? output.content : JSON.stringify(output ?? '');
}
