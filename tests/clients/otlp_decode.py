"""Decodes what a collector got by the published definitions of OTLP, and prints what they find in it.

`otlp_decode.py FILE`: each line of the file is an object with `path` and `body`. For each it prints the names and the ids of
what it holds. A field that the definitions do not have, or a value of another type, is an error.
"""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# The JSON encoding of OTLP has these in hexadecimal; that of protobuf has bytes in base64.
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def as_protobuf(value):
    if isinstance(value, list):
        return [as_protobuf(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {}
    for name, member in value.items():
        if name in IDS:
            data = bytes.fromhex(member)
            assert len(data) == IDS[name], f"`{name}` has {len(data)} bytes"
            members[name] = base64.b64encode(data).decode()
        else:
            members[name] = as_protobuf(member)
    return members


def text_of(item, key):
    return next(pair.value.string_value for pair in item.attributes if pair.key == key)


def decoded(path, body):
    request = ExportLogsServiceRequest() if path == "/v1/logs" else ExportTraceServiceRequest()
    json_format.ParseDict(as_protobuf(body), request)
    again = type(request)()
    again.ParseFromString(request.SerializeToString())
    assert again == request, "the binary encoding holds the same"
    if path == "/v1/logs":
        items = [item for of in again.resource_logs for part in of.scope_logs for item in part.log_records]
        ids = [text_of(item, "log.record.uid") for item in items]
        return {"names": [item.event_name for item in items], "ids": ids}
    items = [item for of in again.resource_spans for part in of.scope_spans for item in part.spans]
    return {"names": [item.name for item in items], "ids": [item.span_id.hex() for item in items]}


with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        got = json.loads(line)
        print(json.dumps({"path": got["path"], **decoded(got["path"], got["body"])}))
