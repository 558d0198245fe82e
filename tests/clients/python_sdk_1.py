"""The official Python SDK 1.x: 2025-11-25 with its experimental tasks, over HTTP or over `taskwarden connect`."""

import asyncio
import os
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CallToolResult
from story import CALLS, COMMAND, STORY, TOKEN, URL, main, persist, tell, told, words


@asynccontextmanager
async def connected():
    if COMMAND:
        how = stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ)))
    else:
        how = streamablehttp_client(URL, headers={"Authorization": f"Bearer {TOKEN}"})
    async with how as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        yield session


async def follow(session, task_id):
    while True:
        task = await session.experimental.get_task(task_id)
        if task.status in ("completed", "failed", "cancelled"):
            break
        await asyncio.sleep((task.pollInterval or 300) / 1000)
    result = await session.experimental.get_task_result(task_id, CallToolResult)
    return task.status, words(result)


async def run():
    name, arguments = CALLS[STORY]
    async with connected() as session:
        tell("connected")
        created = await session.experimental.call_tool_as_task(name, arguments)
        task_id = created.task.taskId
        tell("started", kind="task", task=task_id)
        if STORY == "cancel":
            await told()
            task = await session.experimental.cancel_task(task_id)
            tell("done", status=task.status, text="")
            return
        if STORY != "restart" or COMMAND:
            status, text = await follow(session, task_id)
            tell("done", status=status, text=text)
            return
        await told()

    async def again():
        async with connected() as session:
            return await follow(session, task_id)

    status, text = await persist(again)
    tell("done", status=status, text=text)


main(run)
