"""Asks for a decision again and again as a process that nobody knows: its parent has ended.

refused.py SOCKET TIMES FILE writes how often each status came, as JSON, into a file that appears when it is whole.
"""

import collections
import http.client
import json
import os
import socket
import sys

PATH, TIMES, FILE = sys.argv[1], int(sys.argv[2]), sys.argv[3]
# Its room is taken now: the disk may be full at the end.
told = open(FILE + ".new", "w")
told.write(" " * 4096)
told.flush()
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    pass
os.setsid()


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(PATH)


statuses = collections.Counter()
connection = Connection("core")
for number in range(TIMES):
    connection.request("POST", "/call/agents.add", json.dumps({"name": f"evil-{number}"}))
    answer = connection.getresponse()
    answer.read()
    statuses[answer.status] += 1
told.seek(0)
json.dump(statuses, told)
told.close()
os.rename(FILE + ".new", FILE)
