"""A server of the 2025 dialect over standard input and output that asks about a task that it never created.

Its tool `ask` asks, and returns what it got. Its tool `later` returns at once and asks afterwards; what it got then is
written to standard error.
"""

import json
import sys

TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("ask", "later")]
QUESTION = {
    "message": "Go on?",
    "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
    "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "never-created"}},
}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def ask():
    send({"id": "q", "method": "elicitation/create", "params": QUESTION})
    while True:
        message = receive()
        if "method" not in message:
            return json.dumps(message.get("error") or message.get("result"))
        answer(message)


def answer(message):
    if "id" not in message:
        return
    found, method = None, message["method"]
    if method == "initialize" and not message["params"]["protocolVersion"].startswith("2026"):
        found = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "asker", "version": "1"},
        }
    if method == "tools/list":
        found = {"tools": TOOLS}
    if method == "ping":
        found = {}
    name = message["params"]["name"] if method == "tools/call" else None
    if name:
        said = ask() if name == "ask" else "soon"
        found = {"content": [{"type": "text", "text": said}]}
    if found is None:
        send({"id": message["id"], "error": {"code": -32601, "message": "method not found"}})
    else:
        send({"id": message["id"], "result": found})
    if name == "later":
        print("answered: " + ask(), file=sys.stderr, flush=True)


while True:
    answer(receive())
