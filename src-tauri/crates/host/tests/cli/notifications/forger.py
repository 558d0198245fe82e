"""Pretends to be the notification service: forger.py NUMBER ACTION…

A second client of the bus, which owns no name. Each action is sent to everybody and to each connection alone; the
action `close` is a `NotificationClosed`.
"""

import sys

import dbus
import dbus.lowlevel

NAME = "org.freedesktop.Notifications"
bus = dbus.SessionBus()
number = dbus.UInt32(int(sys.argv[1]))
everybody = [None, *(str(name) for name in bus.list_names() if name.startswith(":"))]
for action in sys.argv[2:]:
    for receiver in everybody:
        closed = action == "close"
        member = "NotificationClosed" if closed else "ActionInvoked"
        signal = dbus.lowlevel.SignalMessage("/org/freedesktop/Notifications", NAME, member)
        signal.append(number, dbus.UInt32(2)) if closed else signal.append(number, action)
        if receiver:
            signal.set_destination(receiver)
        bus.send_message(signal)
bus.flush()
# The bus answers in turn: after this it has passed the signals on.
bus.get_name_owner(NAME)
