"""What the stories of all Python clients share: what to do, where, and telling it one JSON object a line.

`python CLIENT.py result|question|cancel|restart`, with CLIENT_URL and CLIENT_TOKEN, or CLIENT_COMMAND as a JSON array.
"""

import asyncio
import json
import os
import sys
import traceback

STORY = sys.argv[1]
URL = os.environ.get("CLIENT_URL", "")
TOKEN = os.environ.get("CLIENT_TOKEN", "")
COMMAND = json.loads(os.environ.get("CLIENT_COMMAND", "[]"))

# The call of each story, on the server `rmcp-peer`.
CALLS = {
    "result": ("slow_sum", {"a": 40, "b": 2, "millis": 400}),
    "question": ("ask_name", {}),
    "cancel": ("forever", {}),
    "restart": ("slow_sum", {"a": 40, "b": 2, "millis": 8_000}),
}


def tell(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


async def told():
    """Waits for whoever tells the story."""
    return await asyncio.to_thread(sys.stdin.readline)


def words(result):
    return " ".join(getattr(part, "text", "") for part in result.content)


def main(run):
    """Runs a story to its end; an error is told and ends the program."""
    try:
        asyncio.run(run())
    except BaseException:
        tell("failed", message=traceback.format_exc()[-3000:])
        sys.exit(1)


async def persist(attempt):
    """Repeats a call whose connection broke, as an agent does; the gateway joins the repeat to the open task."""
    for _ in range(400):
        try:
            return await attempt()
        except Exception as error:  # The SDKs raise many kinds for a connection that broke.
            tell("away", message=f"{type(error).__name__}: {error}"[:300])
            await asyncio.sleep(0.3)
    raise RuntimeError("the gateway did not come back")


async def plain(connected):
    """The stories of a client that knows no tasks: `connected` opens a session with `call(name, arguments)`."""
    name, arguments = CALLS[STORY]

    async def once():
        async with connected() as call:
            tell("started", kind="plain")
            return words(await call(name, arguments))

    if STORY == "cancel":
        task = asyncio.create_task(once())
        await told()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        tell("done", status="gave up", text="")
    elif STORY == "restart":
        tell("done", status="completed", text=await persist(once))
    else:
        tell("done", status="completed", text=await once())
