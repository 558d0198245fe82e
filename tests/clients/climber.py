"""An agent's program that tries to raise its own limits, beside the bridge that it started.

`CLIENT_COMMAND` is the bridge's command, `CLIENT_PROGRAM` the program itself, `CLIENT_TRIES` a list of its arguments. It
greets the gateway over the bridge, runs each of the tries, and tells their exit codes.
"""

import json
import os
import subprocess

bridge = subprocess.Popen(json.loads(os.environ["CLIENT_COMMAND"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "climber", "version": "1"}}
bridge.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
bridge.stdin.flush()
greeted = json.loads(bridge.stdout.readline())
codes = []
for arguments in json.loads(os.environ["CLIENT_TRIES"]):
    codes.append(subprocess.run([os.environ["CLIENT_PROGRAM"], *arguments], capture_output=True).returncode)
bridge.kill()
print(json.dumps({"event": "done", "greeted": "result" in greeted, "codes": codes}))
