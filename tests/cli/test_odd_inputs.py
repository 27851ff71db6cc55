"""Inputs that nobody would expect: each ends in one sentence and exit code 2, or is read as it is meant."""

from __future__ import annotations

import gzip
import io
import sys

import polars as pl
import pytest
import zstandard

from sidrec.cli.app import main
from sidrec.core.errors import SettingsError
from sidrec.data.readers import unpack
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.sids.opq import OPQ
from sidrec.training.options import TrainingOptions

HEAD = "user_id,item_id,timestamp\n"
ROWS = "".join(f"u{user},i{(user + step) % 4},{1_700_000_000 + step}\n" for user in range(3) for step in range(4))


def times(*values: int) -> bytes:
    rows = pl.read_csv(io.StringIO(HEAD + ROWS)).with_columns(timestamp=pl.Series([*values] * 3, dtype=pl.UInt64))
    file = io.BytesIO()
    rows.write_parquet(file)
    return file.getvalue()


REFUSED = {
    "lines end in CR": ("csv", (HEAD + ROWS).replace("\n", "\r"), "its lines end in a lone CR"),
    "objects end in CR": ("jsonl", '{"user_id": "a"}\r{"user_id": "b"}', "its lines end in a lone CR"),
    "sequences end in CR": ("sequences.tsv", "a\tx y z\rb\tx y z\r", "its lines end in a lone CR"),
    "some end in CR": ("csv", HEAD.replace("\n", "\r") + ROWS, "row 1: is no header"),
    "a sequence with CR inside": ("sequences.tsv", "a\tx y\rz\nb\tx y z\n", "needs a user, a TAB"),
    "a header of 10 MB": ("csv", HEAD.replace("\n", "," + "x" * 10_000_000 + "\n") + ROWS, "row 1: is no header"),
    "a time of 10 MB": ("csv", HEAD + ROWS + "u,i," + "9" * 10_000_000 + "\n", "(10,000,000 characters) does not fit"),
    "a line without end": ("csv", HEAD + ROWS + '"' + "x" * (1 << 26), "a quoted field or a line does not end"),
    "unsigned 64-bit times": ("parquet", times(1, 2, 3, 2**63), "'9223372036854775808' does not fit into 64 bits"),
    "a time beyond all bits": ("csv", HEAD + ROWS + f"u,i,{10**30}\n", "does not fit into 64 bits"),
    "seconds and milliseconds": ("csv", HEAD + ROWS + "u0,i0,1700000000123\n", "cannot be in one unit"),
    "seconds and nanoseconds": ("csv", HEAD + ROWS + "u0,i0,1700000000123456789\n", "cannot be in one unit"),
    "fractions of both": ("csv", HEAD + ROWS + "u0,i0,1700000000123.5\n", "times 1700000000 ("),
    "lists in lists in lists": ("jsonl", '{"user_id": ' + "[" * 100_000 + "]" * 100_000 + "}", "not valid JSON"),
    "a number of 5000 digits": ("jsonl", '{"user_id": ' + "9" * 5000 + "}", "not valid JSON"),
}


@pytest.fixture
def prepare(tmp_path, monkeypatch, capsys):
    def call(name: str, content: str | bytes, *words: str) -> tuple[int, str]:
        file = tmp_path / (name if "." in name and name.startswith("sequences") else f"interactions.{name}")
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        monkeypatch.setattr(sys, "argv", ["sidrec", "data", "prepare", str(file), "--out", str(tmp_path / "o"), *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.slow
def test_one_sentence_and_exit_code_2(prepare, tmp_path, case):
    name, content, said = REFUSED[case]
    code, errors = prepare(name, content)
    assert code == 2 and said in errors
    assert errors.startswith("sidrec: ") and errors.count("\n") == 1 and len(errors) < 1000
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    "content",
    [
        (HEAD + ROWS).replace("\n", "\r\n"),
        HEAD + ROWS + "u0," + "x" * 10_000_000 + ",1700000009\n",
        HEAD.replace("\n", ",note\n") + ROWS.replace("\n", ',"a\rb"\n'),
        HEAD + ROWS + "ü日本,i0,1700000000\n",
        HEAD + "".join(f"u0,i{step},{10 ** (3 * step)}\n" for step in range(3)),
        HEAD + "".join(f"u0,i{step},{1e9 + step / 8}\n" for step in range(3)),
    ],
)
def test_odd_but_meant(prepare, content):
    assert prepare("csv", content)[0] == 0


def test_mixed_units_can_be_kept(prepare):
    assert prepare("csv", REFUSED["seconds and milliseconds"][1], "--set", "mixed_times=keep")[0] == 0


@pytest.mark.parametrize("pack", ["gz", "zst"])
@pytest.mark.slow
def test_a_small_file_does_not_fill_the_memory(prepare, monkeypatch, pack):
    monkeypatch.setattr(unpack, "_ALWAYS", 1 << 20)
    rows = (HEAD + "u,i,1\n" * 1_000_000).encode()
    packed = gzip.compress(rows) if pack == "gz" else zstandard.compress(rows)
    code, errors = prepare(f"csv.{pack}", packed)
    assert code == 2 and "unpacks to more than 200 times its" in errors and errors.count("\n") == 1
    monkeypatch.setenv(unpack.LIMIT, "1e9")
    assert "unpacks" not in prepare(f"csv.{pack}", packed)[1]


@pytest.mark.parametrize("seed", [2**63, 10**30, -1])
def test_seeds_that_no_generator_takes(monkeypatch, capsys, tmp_path, seed):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'title = "t"\n[datasets]\ndemo = "demo"\n[[section]]\nname = "a"\ntitle = "a"\n'
        'baseline = "popularity"\nmodels = ["popularity"]\n'
    )
    monkeypatch.setattr(
        sys, "argv", ["sidrec", "benchmark", str(plan), "--out", str(tmp_path / "o"), f"--seeds={seed}"]
    )
    with pytest.raises(SystemExit) as stop:
        main()
    errors = capsys.readouterr().err
    assert stop.value.code == 2 and "seeds.0: should be" in errors


@pytest.mark.parametrize("settings", [TrainingOptions, OPQ.settings_class, EvaluationSettings])
def test_a_seed_has_63_bits(settings):
    assert settings(seed=2**63 - 1).seed == 2**63 - 1
    for seed in (2**63, -1):
        with pytest.raises(SettingsError, match="seed: should be"):
            settings.parse({"seed": seed}, owner="x")
