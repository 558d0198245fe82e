"""FastMCP's client over HTTP. Its tasks come in a package of their own, so as installed it knows none."""

from contextlib import asynccontextmanager

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from story import TOKEN, URL, main, plain, tell


@asynccontextmanager
async def connected():
    transport = StreamableHttpTransport(URL, headers={"Authorization": f"Bearer {TOKEN}"})
    async with Client(transport) as client:
        tell("connected")
        yield client.call_tool


main(lambda: plain(connected))
