"""The little of X11 that a person's hands need: close a window with its button, press keys anywhere, press in a dialog.

There is no window manager on the test's display, so its messages are sent here. Only libX11 and libXtst are used.
"""

import ctypes

X = ctypes.CDLL("libX11.so.6")
XTEST = ctypes.CDLL("libXtst.so.6")

X.XOpenDisplay.restype = ctypes.c_void_p
X.XOpenDisplay.argtypes = [ctypes.c_char_p]
X.XDefaultRootWindow.restype = ctypes.c_ulong
X.XDefaultRootWindow.argtypes = [ctypes.c_void_p]
X.XInternAtom.restype = ctypes.c_ulong
X.XInternAtom.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
X.XFlush.argtypes = [ctypes.c_void_p]
X.XFree.argtypes = [ctypes.c_void_p]
X.XFetchName.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.POINTER(ctypes.c_char_p)]
X.XQueryTree.argtypes = [ctypes.c_void_p, ctypes.c_ulong] + [ctypes.c_void_p] * 4
X.XStringToKeysym.restype = ctypes.c_ulong
X.XStringToKeysym.argtypes = [ctypes.c_char_p]
X.XKeysymToKeycode.restype = ctypes.c_ubyte
X.XKeysymToKeycode.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
XTEST.XTestFakeKeyEvent.argtypes = [ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_ulong]


class ClientMessage(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 12),
    ]


X.XSendEvent.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.c_long, ctypes.POINTER(ClientMessage)]

CLIENT_MESSAGE = 33
display = X.XOpenDisplay(None)
root = X.XDefaultRootWindow(display)


def windows():
    """Windows of the display by their title."""
    ignored = (ctypes.c_ulong(), ctypes.c_ulong())
    children, count = ctypes.POINTER(ctypes.c_ulong)(), ctypes.c_uint()
    X.XQueryTree(display, root, *map(ctypes.byref, (*ignored, children, count)))
    found = {}
    for at in range(count.value):
        name = ctypes.c_char_p()
        if X.XFetchName(display, children[at], ctypes.byref(name)) and name.value:
            found.setdefault(name.value.decode("utf-8", "replace"), []).append(children[at])
    if children:
        X.XFree(children)
    return found


def close(title):
    """What the button in the frame of a window does."""
    protocols = X.XInternAtom(display, b"WM_PROTOCOLS", 0)
    delete = X.XInternAtom(display, b"WM_DELETE_WINDOW", 0)
    for window in windows()[title]:
        message = ClientMessage(CLIENT_MESSAGE, 0, 1, display, window, protocols, 32)
        message.data[0] = delete
        X.XSendEvent(display, window, 0, 0, ctypes.byref(message))
    X.XFlush(display)


def press(keys):
    """Presses keys together, wherever the focus is."""
    codes = [X.XKeysymToKeycode(display, X.XStringToKeysym(key.encode())) for key in keys]
    for code in codes:
        XTEST.XTestFakeKeyEvent(display, code, 1, 0)
    for code in reversed(codes):
        XTEST.XTestFakeKeyEvent(display, code, 0, 0)
    X.XFlush(display)
