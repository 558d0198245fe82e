"""A server of the 2025 dialect over HTTP.

loopback.py PORT [FILE] listens on that port of loopback. Its one tool is `hello`. With FILE it offers a stream on which
it says nothing, and makes the file when that is opened; without, it is heard only when it is asked.
"""

import http.server
import json
import sys
import threading

OPENED = sys.argv[2] if len(sys.argv) > 2 else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def send(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if OPENED is None:
            return self.send(405)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.flush()
        open(OPENED, "w").close()
        threading.Event().wait()

    def do_DELETE(self):
        self.send(405)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message or "method" not in message:
            return self.send(202)
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "loopback", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "hello"}]},
            "ping": {},
        }
        if message["method"] in results:
            answer["result"] = results[message["method"]]
        else:
            answer["error"] = {"code": -32601, "message": "method not found"}
        self.send(200, json.dumps(answer).encode(), [("content-type", "application/json")])

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
