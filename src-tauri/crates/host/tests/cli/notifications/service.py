"""A notification service for tests: owns org.freedesktop.Notifications on the bus of its environment.

Each call is printed as one JSON line. Lines on standard input are what a person does: `press ID ACTION`, `close ID`.
"""

import json
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"


def say(**fact):
    print(json.dumps(fact), flush=True)


class Service(dbus.service.Object):
    last = 0

    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        if replaces == 0:
            Service.last += 1
        number = int(replaces) or Service.last
        say(
            call="notify",
            id=number,
            replaces=int(replaces),
            title=str(summary),
            body=str(body),
            actions=dict(zip(map(str, actions[::2]), map(str, actions[1::2]))),
            silent=bool(hints.get("suppress-sound", False)),
        )
        return dbus.UInt32(number)

    @dbus.service.method(NAME, in_signature="u", out_signature="")
    def CloseNotification(self, number):
        say(call="close", id=int(number))
        self.NotificationClosed(number, 3)

    @dbus.service.method(NAME, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return ["actions", "body", "persistence"]

    @dbus.service.method(NAME, in_signature="", out_signature="ssss")
    def GetServerInformation(self):
        return ("tests", "taskwarden", "1", "1.2")

    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, number, action):
        pass

    @dbus.service.signal(NAME, signature="uu")
    def NotificationClosed(self, number, reason):
        pass


def do(stream, _condition, service):
    words = stream.readline().split()
    if not words:
        loop.quit()
        return False
    if words[0] == "press":
        service.ActionInvoked(dbus.UInt32(int(words[1])), words[2])
    elif words[0] == "close":
        service.NotificationClosed(dbus.UInt32(int(words[1])), dbus.UInt32(2))
    return True


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
service = Service(bus, "/org/freedesktop/Notifications")
loop = GLib.MainLoop()
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, do, service)
say(call="ready")
loop.run()
