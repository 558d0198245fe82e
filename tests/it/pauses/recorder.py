"""A server over standard input and output that writes down which calls it got, in their order.

recorder.py FILE appends the word of each call to FILE before it answers. Its one tool is `note`.
"""

import json
import sys

FILE = sys.argv[1]
NOTE = {
    "name": "note",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}


def result(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "recorder", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [NOTE]}
    if method == "tools/call":
        word = params["arguments"]["word"]
        with open(FILE, "a") as file:
            file.write(word + "\n")
        return {"content": [{"type": "text", "text": f"noted {word}"}]}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    found = result(message["method"], message.get("params", {}))
    if found is None or message.get("params", {}).get("protocolVersion", "2025-06-18").startswith("2026"):
        answer["error"] = {"code": -32601, "message": "method not found"}
    else:
        answer["result"] = found
    print(json.dumps(answer), flush=True)
