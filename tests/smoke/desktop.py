"""A desktop of our own on the session bus: a notification service, a tray and a pair of hands, told what to do by line.

It prints one JSON object a line for everything the window asks of it, and obeys one JSON object a line on its
standard input. It shows nothing and decides nothing.
"""

import json
import sys

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

import x11

NOTIFICATIONS = "org.freedesktop.Notifications"
WATCHER = "org.kde.StatusNotifierWatcher"
ITEM = "org.kde.StatusNotifierItem"
MENU = "com.canonical.dbusmenu"


def say(**what):
    print(json.dumps(what), flush=True)


class Notifications(dbus.service.Object):
    last = 0

    @dbus.service.method(NOTIFICATIONS, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        if not replaces:
            Notifications.last += 1
        number = int(replaces) or Notifications.last
        keys = [str(action) for action in actions]
        pairs = dict(zip(keys[0::2], keys[1::2]))
        say(event="notify", number=number, replaces=int(replaces), summary=str(summary), body=str(body), actions=pairs)
        return dbus.UInt32(number)

    @dbus.service.method(NOTIFICATIONS, in_signature="u")
    def CloseNotification(self, number):
        say(event="withdrawn", number=int(number))
        self.NotificationClosed(number, dbus.UInt32(3))

    @dbus.service.method(NOTIFICATIONS, out_signature="as")
    def GetCapabilities(self):
        return ["body", "actions", "persistence"]

    @dbus.service.method(NOTIFICATIONS, out_signature="ssss")
    def GetServerInformation(self):
        return ("smoke", "Taskwarden", "1", "1.2")

    @dbus.service.signal(NOTIFICATIONS, signature="uu")
    def NotificationClosed(self, number, reason):
        pass

    @dbus.service.signal(NOTIFICATIONS, signature="us")
    def ActionInvoked(self, number, action):
        pass


class Watcher(dbus.service.Object):
    item = None

    @dbus.service.method(WATCHER, in_signature="s", sender_keyword="sender")
    def RegisterStatusNotifierItem(self, service, sender):
        named = str(service)
        Watcher.item = (sender, named) if named.startswith("/") else (named, "/StatusNotifierItem")
        say(event="tray")

    @dbus.service.method(WATCHER, in_signature="s")
    def RegisterStatusNotifierHost(self, service):
        pass

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="ss", out_signature="v")
    def Get(self, interface, name):
        return self.GetAll(interface)[name]

    @dbus.service.method(dbus.PROPERTIES_IFACE, in_signature="s", out_signature="a{sv}")
    def GetAll(self, interface):
        items = dbus.Array(["".join(Watcher.item)] if Watcher.item else [], signature="s")
        return {
            "RegisteredStatusNotifierItems": items,
            "IsStatusNotifierHostRegistered": dbus.Boolean(True),
            "ProtocolVersion": dbus.Int32(0),
        }


def tray_property(name):
    service, path = Watcher.item
    return bus.get_object(service, path).Get(ITEM, name, dbus_interface=dbus.PROPERTIES_IFACE)


def menu():
    return dbus.Interface(bus.get_object(Watcher.item[0], tray_property("Menu")), MENU)


def entries():
    _, (_, _, children) = menu().GetLayout(0, -1, ["label", "type", "enabled"])
    # A single underscore marks a letter, two are one.
    return {str(p.get("label", "")).replace("__", "_"): int(number) for number, p, _ in children if "label" in p}


def obey(order):
    match order["do"]:
        case "act":
            notifications.ActionInvoked(dbus.UInt32(order["number"]), order["action"])
            say(event="done")
        case "tray":
            tooltip = tray_property("ToolTip")
            picture = max(tray_property("IconPixmap"), key=lambda one: int(one[0]), default=None)
            colours = len({bytes(picture[2][i : i + 4]) for i in range(0, len(picture[2]), 4)}) if picture else 0
            said = " ".join(str(part) for part in tooltip[2:])
            say(event="looked", tooltip=said, labels=list(entries()), colours=colours)
        case "choose":
            number = next(number for label, number in entries().items() if order["label"] in label)
            menu().Event(number, "clicked", dbus.String(""), dbus.UInt32(0))
            say(event="done")
        case "activate":
            service, path = Watcher.item
            bus.get_object(service, path).Activate(0, 0, dbus_interface=ITEM)
            say(event="done")
        case "close":
            x11.close(order["title"])
            say(event="done")
        case "press":
            x11.press(order["keys"])
            say(event="done")
        case "windows":
            say(event="windows", titles=sorted(x11.windows()))


def heard(source, _):
    line = source.readline()
    if not line:
        loop.quit()
        return False
    try:
        obey(json.loads(line))
    except Exception as why:  # told to the test, which fails with it
        say(event="failed", why=repr(why))
    return True


DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
names = [dbus.service.BusName(name, bus, do_not_queue=True) for name in (NOTIFICATIONS, WATCHER)]
notifications = Notifications(bus, "/org/freedesktop/Notifications")
watcher = Watcher(bus, "/StatusNotifierWatcher")
loop = GLib.MainLoop()
GLib.io_add_watch(sys.stdin, GLib.IO_IN | GLib.IO_HUP, heard)
say(event="ready")
loop.run()
