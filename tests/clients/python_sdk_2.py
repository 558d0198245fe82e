"""The official Python SDK 2.x: 2026-07-28 over HTTP, a client that knows no tasks."""

from contextlib import asynccontextmanager

from mcp import Client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from story import TOKEN, URL, main, plain, tell


@asynccontextmanager
async def connected():
    http = create_mcp_http_client(headers={"Authorization": f"Bearer {TOKEN}"})
    async with http, Client(streamable_http_client(URL, http_client=http)) as client:
        tell("connected", version=client.protocol_version)
        yield client.call_tool


main(lambda: plain(connected))
