"""Counts a client's transcript with tiktoken, by the definition of decision 0014, and prints tokens by source.

`count.py TRANSCRIPT CACHE`: the transcript is that of `transcript.mjs`; CACHE is a folder for the ranks of `o200k_base`,
which are made from the npm package `js-tiktoken` because tiktoken alone would fetch them. Written against the decision,
not against the program: nothing here is shared with it.
"""

import base64
import hashlib
import json
import os
import pathlib
import sys

RANKS = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
PACKAGE = pathlib.Path(__file__).parent / "node_modules/js-tiktoken/dist/ranks/o200k_base.js"
OWN = {"tasks_wait", "tasks_result", "tasks_list", "tasks_cancel"}


def put_ranks(cache):
    """Writes the ranks as tiktoken keeps them; it checks their hash itself."""
    text = PACKAGE.read_text(encoding="utf-8")
    ranks = json.loads(text[text.index("{") : text.rindex("}") + 1])["bpe_ranks"]
    lines = []
    for line in ranks.splitlines():
        _, first, *tokens = line.split(" ")
        lines += [f"{token} {int(first) + place}\n" for place, token in enumerate(tokens)]
    name = hashlib.sha1(RANKS.encode()).hexdigest()
    (pathlib.Path(cache) / name).write_text("".join(lines), encoding="ascii")


def refuse(place):
    raise SystemExit(f"the ranks in `{PACKAGE}` are not those of `{place}`")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Tally:
    """Tokens by source."""

    def __init__(self, encoding):
        self.encoding = encoding
        self.sums = dict.fromkeys(["tools", "ownTools", "arguments", "results", "handles", "prompts"], 0)

    def text(self, source, text):
        self.sums[source] += len(self.encoding.encode_ordinary(text))

    def call(self, params):
        self.text("arguments", params["name"])
        if "arguments" in params:
            self.text("arguments", compact(params["arguments"]))

    def tools(self, listed):
        """The set once: what was listed last."""
        self.sums["tools"] = self.sums["ownTools"] = 0
        for tool in listed:
            shown = {member: tool[member] for member in ("name", "description", "inputSchema") if member in tool}
            self.text("ownTools" if tool["name"] in OWN else "tools", compact(shown))

    def block(self, source, block):
        kind = block["type"]
        if kind == "text":
            self.text(source, block["text"])
        elif kind == "resource":
            self.text(source, block["resource"]["text"])
        elif kind in ("image", "audio"):
            raise SystemExit(f"this transcript has {kind}, which is counted by rules of its own")
        else:
            self.text(source, compact(block))

    def result(self, source, result):
        if result.get("content"):
            for block in result["content"]:
                self.block(source, block)
        elif "structuredContent" in result:
            self.text(source, compact(result["structuredContent"]))

    def task(self, task):
        left_out = ("result", "error", "inputRequests", "_meta")
        self.text("handles", compact({name: value for name, value in task.items() if name not in left_out}))
        if "result" in task:
            self.ended_call(task["result"])
        if "error" in task:
            self.text("results", task["error"]["message"])

    def ended_call(self, result):
        """A short result, or a note that brings nothing of one, stands for the task; anything else is the result."""
        meta = result.get("_meta") or {}
        stands_for_task = "io.taskwarden/held" in meta or meta.get("io.taskwarden/brings") is False
        self.result("handles" if stands_for_task else "results", result)

    def answered(self, request, answer):
        method, params = request["method"], request.get("params") or {}
        if "error" in answer:
            self.text("results", answer["error"]["message"])
            return
        result = answer["result"]
        if method == "tools/list":
            self.tools(result["tools"])
        elif method == "tools/call" and result.get("resultType") == "task":
            self.task(result)
        elif method == "tools/call":
            self.ended_call(result)
        elif method == "tasks/get":
            self.task(result)
        elif method == "prompts/get":
            for message in result["messages"]:
                self.block("prompts", message["content"])
        elif method == "resources/read":
            ours = params["uri"].startswith("taskwarden://results/")
            for part in result["contents"]:
                self.text("results" if ours else "prompts", part["text"])


def main(transcript, cache):
    put_ranks(cache)
    os.environ["TIKTOKEN_CACHE_DIR"] = cache
    import tiktoken
    import tiktoken.load

    # Ranks that are not the published ones would be fetched; they are refused instead.
    tiktoken.load.read_file = refuse
    tally = Tally(tiktoken.get_encoding("o200k_base"))
    asked = {}
    for line in pathlib.Path(transcript).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        message = json.loads(entry["text"])
        if entry["way"] == "sent" and "method" in message and "id" in message:
            asked[str(message["id"])] = message
            if message["method"] == "tools/call":
                tally.call(message["params"])
        elif entry["way"] == "received" and "method" not in message and str(message.get("id")) in asked:
            tally.answered(asked.pop(str(message["id"])), message)
    print(json.dumps({"event": "counted", "unanswered": len(asked), **tally.sums}))


main(*sys.argv[1:])
