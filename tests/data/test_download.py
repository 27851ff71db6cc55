"""Downloads against a server on loopback that breaks off, lies, forgets, or does not know ranges."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from reference.other_writer import other_writer
from sidrec.core.errors import InputError
from sidrec.core.locks import patient
from sidrec.data.download import Retry, amazon_files, download

BODY = bytes(range(256)) * 40
SHA = hashlib.sha256(BODY).hexdigest()
FAST = Retry(attempts=3, first_wait=0.0, timeout=5)


class Server(ThreadingHTTPServer):
    """Serves BODY under every name; `breaks` answers stop after some bytes, `busy` ones say 503."""

    breaks: list[int]
    busy = 0
    ranges = True
    asked: list[str]
    body = BODY
    tag = '"one"'
    heeds_if_range = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.server.asked.append(wanted)
        if "missing" in self.path:
            return self.send_error(404)
        if self.server.busy:
            self.server.busy -= 1
            return self.send_error(503)
        body, tag = self.server.body, self.server.tag
        fresh = self.server.heeds_if_range and self.headers.get("If-Range") != tag
        start = int(wanted[6:-1]) if wanted and self.server.ranges and not fresh else 0
        if start >= len(body):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
        else:
            self.send_response(206 if start else 200)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(max(len(body) - start, 0)))
        if tag:
            self.send_header("ETag", tag)
        self.end_headers()
        end = start + self.server.breaks.pop(0) if self.server.breaks else len(body)
        self.wfile.write(body[start:end])
        return None


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as running:
        running.breaks, running.asked = [], []
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield running
        running.shutdown()


def fetch(server: Server, out: Path, name: str = "a/b.gz", **more: dict[str, str]) -> bytes:
    (file,) = download([name], out, base_url=server.url, retry=FAST, **more)  # type: ignore[arg-type]
    assert [path.name for path in out.iterdir() if ".part" in path.name] == []
    return file.read_bytes()


def stopped(server: Server, out: Path, have: bytes, url: str = "") -> None:
    """What a stopped download leaves behind."""
    (out / "b.gz.part").write_bytes(have)
    (out / "b.gz.part.json").write_text(json.dumps({"url": url or f"{server.url}/a/b.gz", "tag": server.tag}))


def test_a_broken_transfer_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.breaks = [1000, 2000]
    assert fetch(server, tmp_path, sha256={"b.gz": SHA}) == BODY
    assert server.asked == ["", "bytes=1000-", "bytes=3000-"]


def test_a_stopped_command_goes_on_and_a_finished_one_rests(server: Server, tmp_path: Path) -> None:
    stopped(server, tmp_path, BODY[:777])
    assert fetch(server, tmp_path) == BODY
    assert fetch(server, tmp_path) == BODY
    assert server.asked == ["bytes=777-"]


def test_what_a_killed_download_left_beside_the_finished_file_goes(server: Server, tmp_path: Path) -> None:
    fetch(server, tmp_path)
    (tmp_path / "b.gz.part.json").write_text("{}")
    (tmp_path / ".b.gz.lock").write_text("")
    assert fetch(server, tmp_path) == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["b.gz"] and server.asked == [""]


def test_what_another_one_fetched_meanwhile_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    def second() -> None:
        with patient(lambda _: None):
            fetch(server, tmp_path)

    with other_writer(tmp_path / "b.gz"):
        waiting = threading.Thread(target=second)
        waiting.start()
        time.sleep(0.1)
        (tmp_path / "b.gz").write_bytes(BODY)
    waiting.join()
    assert server.asked == []


def test_a_part_that_was_whole_already(server: Server, tmp_path: Path) -> None:
    stopped(server, tmp_path, BODY)
    assert fetch(server, tmp_path) == BODY


@pytest.mark.parametrize("heeds_if_range", [True, False])
@pytest.mark.parametrize("have", [777, len(BODY)])
def test_two_versions_are_never_glued_together(server: Server, tmp_path: Path, have: int, heeds_if_range: bool) -> None:
    stopped(server, tmp_path, BODY[:have])
    server.body, server.tag, server.heeds_if_range = BODY[::-1], '"two"', heeds_if_range
    assert fetch(server, tmp_path) == BODY[::-1]


@pytest.mark.parametrize("tag", ["", 'W/"one"'])
def test_a_server_that_names_no_version_starts_over(server: Server, tmp_path: Path, tag: str) -> None:
    server.tag, server.breaks = tag, [1000]
    assert fetch(server, tmp_path) == BODY
    assert server.asked == ["", ""]


def test_a_part_of_unknown_origin_is_not_trusted(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.gz.part").write_bytes(b"x" * 777)
    assert fetch(server, tmp_path) == BODY
    stopped(server, tmp_path, b"x" * 777, url="http://elsewhere/a/b.gz")
    (tmp_path / "b.gz").unlink()
    assert fetch(server, tmp_path) == BODY
    assert server.asked == ["", ""]


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.ranges, server.breaks = False, [1000]
    assert fetch(server, tmp_path) == BODY
    assert len(server.asked) == 2


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.busy = 2
    assert fetch(server, tmp_path) == BODY


def test_patience_ends(server: Server, tmp_path: Path) -> None:
    server.busy = 3
    with pytest.raises(InputError, match=r"answered 503 \(3 tries\); run the same command again"):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_hash_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not have the expected sha256 00"):
        fetch(server, tmp_path, sha256={"b.gz": "0" * 64})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("hashes", "said"),
    [
        ({"c.gz": SHA}, "for c.gz, which is not fetched; the files are b.gz"),
        ({"b.gz": ""}, "for b.gz is ''; 64 hexadecimal digits"),
        ({"b.gz": SHA[:-1]}, "64 hexadecimal digits"),
        ({"b.gz": "g" * 64}, "64 hexadecimal digits"),
    ],
)
def test_a_hash_that_would_check_nothing_is_refused(server: Server, tmp_path: Path, hashes: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fetch(server, tmp_path, sha256=hashes)
    assert server.asked == []


def test_large_letters_are_the_same_hash(server: Server, tmp_path: Path) -> None:
    assert fetch(server, tmp_path, sha256={"b.gz": SHA.upper()}) == BODY
    assert fetch(server, tmp_path, sha256={"b.gz": SHA.upper()}) == BODY
    assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["", "no hash", "\xff\xfe"])
def test_a_damaged_hash_beside_the_file_is_refused(server: Server, tmp_path: Path, text: str) -> None:
    (tmp_path / "b.gz.sha256").write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match="does not begin with a sha256"):
        fetch(server, tmp_path)


@pytest.mark.parametrize("name", ["Bücher & Töne", "日本", "a b\r\nX: y", "[x]%41"])
def test_names_in_any_script_are_asked_for_as_they_are(server: Server, tmp_path: Path, name: str) -> None:
    files = [file for file in amazon_files(f"amazon-2023/{name}") if "meta" in file]
    assert download(files, tmp_path, base_url=server.url, retry=FAST)[0].read_bytes() == BODY


@pytest.mark.parametrize("base_url", ["file:///etc", "ftp://x", "nowhere", "http://[bad", "http://ü..x/"])
def test_addresses_that_are_none_are_refused(tmp_path: Path, base_url: str) -> None:
    with pytest.raises(InputError, match=r"is no address of a web server|cannot be reached"):
        download(["passwd"], tmp_path, base_url=base_url, retry=Retry(attempts=1, first_wait=0))


def test_a_hash_beside_the_file_is_believed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "b.gz").write_bytes(b"old and wrong")
    (tmp_path / "b.gz.sha256").write_text(f"{SHA}  b.gz\n", encoding="utf-8")
    assert fetch(server, tmp_path) == BODY


def test_a_missing_file_and_a_missing_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file on the server; check the category"):
        fetch(server, tmp_path, "missing.gz")
    with pytest.raises(InputError, match="cannot be reached"):
        download(["x"], tmp_path, base_url="http://127.0.0.1:9", retry=Retry(attempts=1, first_wait=0))


def test_names_of_a_category() -> None:
    assert amazon_files("amazon-2023/Video_Games") == (
        "benchmark/5core/last_out_w_his/Video_Games.train.csv.gz",
        "benchmark/5core/last_out_w_his/Video_Games.valid.csv.gz",
        "benchmark/5core/last_out_w_his/Video_Games.test.csv.gz",
        "raw/meta_categories/meta_Video_Games.jsonl.gz",
    )
    assert amazon_files("amazon-2023/Books", raw=True)[0] == "raw/review_categories/Books.jsonl.gz"
    for name in ("Books", "amazon-2023/", "amazon-2023/../x"):
        with pytest.raises(InputError, match="not a data set we know"):
            amazon_files(name)
