"""Tables that no shop should have: each is read, or refused with a sentence that leaves nothing behind."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from disturb.findings import Finding
from disturb.ground import Ground
from disturb.process import command, run
from disturb.shop import PREPARE, RECOMMEND, Verb

KIND = "inputs"
_CELLS = (
    *("", " ", "\x00", "NaN", "inf", "-1", "1e400", "99999999999999999999", "18446744073709551615", "1970-01-01"),
    *("2024-13-45", "1700000000", "1700000000000", "1700000000000000000", "=1+1", "[/red]", "\x1b[2J", "\ufeff", "é"),
    *("\u202e", "a,b", 'q"q', "a\nb", "x" * 2000, "null", "None", "../..", "true", "0x10", "１２", "-0"),
)


def feed(ground: Ground, draw: Random, name: str) -> Finding:
    """Write an odd table in the place of a good one, and run the verb that reads it."""
    about, make, file = draw.choice(_TABLES)
    finding = Finding(KIND, about, tries=1)
    replaced = "items.csv" if about == "items table" else "reviews.csv"
    line = RECOMMEND if about == "users" else PREPARE.replace(replaced, file) + draw.choice(_OPTIONS)
    verb = Verb(about, command(line), command(line), out="out.parquet" if about == "users" else "out")
    with ground.home(verb, name) as home:
        made = run(lambda: print(_made(make, home.path / file, draw)), home.path, home.said)
        ended = home.run(verb.body)
        left = [one for one in home.leftovers() if one != file]
        said = f"{made.words.strip()[:200]} ({line})"
        if ended.traceback or (ended.code == 2 and not ended.words.strip()):
            finding.fault("tracebacks", f"{said}: {ended.words[-1200:]}")
        if left:
            finding.fault("leftovers", f"{said}: {' '.join(left)[:300]}")
        if ended.code != 0 and home.out.exists():
            finding.fault("broken", f"{said}: it was refused and left an output")
    return finding


def _made(make: Callable[[Path, Random], str], file: Path, draw: Random) -> str:
    try:
        return make(file, draw)
    except Exception as error:  # a table that cannot even be made
        file.unlink(missing_ok=True)
        file.write_bytes(draw.randbytes(draw.randint(0, 999)))
        return f"chance instead of {type(error).__name__}"


_OPTIONS = (
    *(
        "",
        "",
        "",
        " --k-core 2",
        " --k-core 99",
        " --unknown-items drop",
        " --unknown-items keep",
        " --short-users train",
    ),
    *(
        " --duplicates last",
        " --split global-time",
        " --keep-unused-items",
        " --min-rating 3",
        " --columns user_id=nope",
    ),
)


def _rows(draw: Random) -> list[list[str]]:
    rows = [[f"u{n % 9}", f"i{draw.randrange(12)}", str(1000 + n)] for n in range(draw.choice([0, 1, 60, 60]))]
    for _ in range(draw.choice([0, 1, 1, 5])):
        if rows:
            draw.choice(rows)[draw.randrange(3)] = draw.choice(_CELLS)
    return rows


def _delimited(file: Path, draw: Random) -> str:
    head = ["user_id", "item_id", "timestamp"]
    if draw.random() < 0.3:
        head[draw.randrange(3)] = draw.choice(["", "user_id", "x", "item_id ", "\ufefftimestamp", "rating"])
    return _as_text(file, head, _rows(draw), draw)


def _items(file: Path, draw: Random) -> str:
    rows = [[f"i{n}", f"lamp {n}", f"Shop {n % 3}"] for n in range(draw.choice([0, 12, 12, 12]))]
    for _ in range(draw.choice([1, 1, 5])):
        if rows:
            draw.choice(rows)[draw.randrange(3)] = draw.choice(_CELLS)
    return _as_text(
        file, draw.choice([["item_id", "title", "brand"], ["item_id", "title", "title"], ["a", "b", "c"]]), rows, draw
    )


def _as_text(file: Path, head: list[str], rows: list[list[str]], draw: Random) -> str:
    between, end = draw.choice([",", ",", ",", "\t", ";"]), draw.choice(["\n", "\n", "\r\n", "\r"])
    if draw.random() < 0.2 and rows:
        rows[0].append("one more")
    if draw.random() < 0.1 and rows:
        rows[-1] = ['"never closed']
    lines = [between.join(head), *(between.join(row) for row in rows)]
    data = (end.join(lines) + draw.choice(["", end, end * 3])).encode("utf-8", "surrogatepass")
    return _in_some_coat(file, data, draw)


def _in_some_coat(file: Path, data: bytes, draw: Random) -> str:
    """As it is, or in another encoding, torn, packed, or with bytes changed."""
    coat = draw.choice(
        ["plain"] * 5 + ["utf-16", "latin", "bom", "torn", "flipped", "zeros", "packed", "torn pack", "long line"]
    )
    changed: dict[str, Callable[[], bytes]] = {
        "utf-16": lambda: data.decode("utf-8", "replace").encode("utf-16"),
        "latin": lambda: data + b"u1,i\xe9\xff,5\n",
        "bom": lambda: b"\xef\xbb\xbf" + data,
        "torn": lambda: data[: draw.randrange(len(data) + 1)],
        "flipped": lambda: bytes(draw.randrange(256) if draw.random() < 0.02 else byte for byte in data),
        "zeros": lambda: data + bytes(draw.choice([1, 4096])),
        "packed": lambda: gzip.compress(data),
        "torn pack": lambda: gzip.compress(data)[: draw.randint(1, 40)],
        "long line": lambda: data + b"x" * 2_000_000,
    }
    file.unlink(missing_ok=True)
    file.write_bytes(changed.get(coat, lambda: data)())
    return f"{coat}: {data[:120]!r}"


def _json_lines(file: Path, draw: Random) -> str:
    odd: tuple[Any, ...] = (None, [], {}, {"a": 1}, [1], True, 1.5, -1, 10**30, "\ud800", "", "x" * 2000)
    rows: list[Any] = [{"user_id": f"u{n % 9}", "item_id": f"i{n % 12}", "timestamp": n} for n in range(60)]
    for _ in range(draw.choice([0, 1, 4])):
        row = draw.choice(rows)
        if isinstance(row, dict) and draw.random() < 0.8:
            row[draw.choice(["user_id", "item_id", "timestamp", "new"])] = draw.choice(odd)
        else:
            rows[draw.randrange(60)] = draw.choice(odd)
    return _in_some_coat(file, "\n".join(json.dumps(row) for row in rows).encode(), draw)


def _parquet(file: Path, draw: Random) -> str:
    import polars as pl

    n = draw.choice([0, 1, 60, 60])
    frame = pl.DataFrame(
        {
            "user_id": [f"u{k % 9}" for k in range(n)],
            "item_id": [f"i{k % 12}" for k in range(n)],
            "timestamp": range(n),
        },
        schema={"user_id": pl.String, "item_id": pl.String, "timestamp": pl.Int64},
    )
    name, kinds = (
        draw.choice(frame.columns),
        [pl.Categorical, pl.Binary, pl.UInt64, pl.Float64, pl.Boolean, pl.Datetime, pl.Date],
    )
    row = pl.int_range(pl.len()) == draw.randrange(n or 1)
    ways: dict[str, Callable[[], pl.DataFrame]] = {
        "same": lambda: frame,
        "another type": lambda: frame.with_columns(pl.col(name).cast(draw.choice(kinds), strict=False)),
        "a null": lambda: frame.with_columns(pl.when(row).then(None).otherwise(pl.col(name)).alias(name)),
        "lists": lambda: frame.with_columns(pl.concat_list(pl.col(name)).alias(name)),
        "records": lambda: frame.with_columns(pl.struct(pl.all()).alias(name)),
        "dropped": lambda: frame.drop(name),
        "a cell": lambda: frame.with_columns(pl.lit(draw.choice(_CELLS)).alias(name)),
        "large": lambda: frame.with_columns((pl.col("timestamp").cast(pl.UInt64) + 2**63).alias("timestamp")),
        "negative": lambda: frame.with_columns((-pl.col("timestamp") - 2**62).alias("timestamp")),
    }
    way = draw.choice(list(ways))
    file.unlink(missing_ok=True)
    ways[way]().write_parquet(file)
    if draw.random() < 0.15:
        return _in_some_coat(file, file.read_bytes(), draw)
    return f"{name} {way}"


def _users(file: Path, draw: Random) -> str:
    import polars as pl

    rows: dict[str, Any] = {"user_id": [f"u{n}" for n in range(9)], "history": [["i1", "i2"]] * 9}
    odd = draw.choice(
        ["nothing", "null history", "null in history", "numbers", "no history", "text", "null user", "twice", "coat"]
    )
    if odd == "null history":
        rows["history"][3] = None
    elif odd == "null in history":
        rows["history"] = [["i1", None]] * 9
    elif odd == "numbers":
        rows["history"] = [[1, 2]] * 9
    elif odd == "no history":
        del rows["history"]
    elif odd == "text":
        rows["history"] = ["i1,i2"] * 9
    elif odd == "null user":
        rows["user_id"][0] = None
    elif odd == "twice":
        rows["user_id"] = ["u"] * 9
    file.unlink(missing_ok=True)
    pl.DataFrame(rows).write_parquet(file)
    return _in_some_coat(file, file.read_bytes(), draw) if odd == "coat" else odd


_TABLES: tuple[tuple[str, Callable[[Path, Random], str], str], ...] = (
    ("delimited text", _delimited, "odd.csv"),
    ("delimited text", _delimited, "odd.inter"),
    ("delimited text", _delimited, "odd.csv.gz"),
    ("items table", _items, "odd.csv"),
    ("JSON lines", _json_lines, "odd.jsonl"),
    ("parquet", _parquet, "odd.parquet"),
    ("users", _users, "users.parquet"),
)
