"""A real S3 server on loopback, in this process, and a bucket in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def object_store() -> Iterator[str]:
    """The address of an empty store."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def client(endpoint: str) -> Any:
    """Another program's view of the store."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=KEYS["AWS_REGION"],
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
    )


def keys(store: Any, bucket: str) -> list[str]:
    """What lies in a bucket."""
    found = store.list_objects_v2(Bucket=bucket).get("Contents", [])
    return sorted(entry["Key"] for entry in found)
