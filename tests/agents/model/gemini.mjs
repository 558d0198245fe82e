// Gemini generateContent as a model serves it: what Gemini CLI asks, and what it is streamed.

export const gemini = {
  owns: (path) => path.includes(':streamGenerateContent') || path.includes(':generateContent') || path.includes(':countTokens'),

  read(path, body) {
    if (path.includes(':countTokens')) return { kind: 'count' };
    const last = body.contents?.at(-1);
    const answered = (last?.parts ?? []).filter((part) => part.functionResponse).map((part) => part.functionResponse);
    const results = answered.map((answer) => ({
      id: answer.id ?? answer.name,
      text: answer.response?.output ?? answer.response?.error ?? JSON.stringify(answer.response),
      isError: answer.response?.error !== undefined,
    }));
    const declared = (body.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
    return {
      kind: 'turn',
      isStream: path.includes(':stream'),
      results,
      tools: declared.map((stated) => ({ name: stated.name, stated })),
    };
  },

  write(turn, { isStream }) {
    const parts = [
      ...(turn.text === '' ? [] : [{ text: turn.text }]),
      ...turn.calls.map(({ id, name, args }) => ({ functionCall: { id, name, args } })),
    ];
    const reply = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 10, totalTokenCount: 20 },
      modelVersion: 'scripted',
      responseId: turn.id,
    };
    return isStream ? { events: [{ data: reply }] } : { document: reply };
  },

  count: () => ({ totalTokens: 100 }),
};
