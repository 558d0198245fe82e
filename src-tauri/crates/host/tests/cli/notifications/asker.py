"""An MCP server of the 2025 era on standard input and output that asks one question in each call.

`ask_kindly` says that it destroys nothing, `ask_roughly` that it does; both ask for one yes or no, and return it.
"""

import json
import sys

SCHEMA = {"type": "object", "properties": {"go": {"type": "boolean", "title": "Go on"}}, "required": ["go"]}
QUESTION = {"message": "Shall the <index> be rebuilt?", "requestedSchema": SCHEMA}
asked = {}


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tool(name, destructive):
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": destructive}}


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        version = version if version in ("2025-11-25", "2025-06-18") else "2025-11-25"
        info = {"name": "asker", "version": "1"}
        send(id=number, result={"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        send(id=number, result={"tools": [tool("ask_kindly", False), tool("ask_roughly", True)]})
    elif method == "tools/call":
        mine = f"q{len(asked) + 1}"
        asked[mine] = number
        send(id=mine, method="elicitation/create", params=QUESTION)
    elif method == "ping":
        send(id=number, result={})
    elif method is None and number in asked:
        said = json.dumps(message.get("result", {}).get("content"))
        send(id=asked[number], result={"content": [{"type": "text", "text": said}]})
    elif method is not None and number is not None:
        send(id=number, error={"code": -32601, "message": "no such method"})
