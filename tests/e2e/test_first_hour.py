"""A German shop walks through its first weeks with the commands of docs/first_hour.md, as they stand there."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sidrec
from sidrec.cli.app import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "first_hour.md"
ROOMS = ("Küche", "Bad", "Garten")
THINGS = ("Löffel", "Tür", "Öl", "Gefäß", "Bürste", "Schüssel")
ITEMS = [f"A{number}" for number in range(36)]


def write_shop(folder: Path) -> None:
    """Every customer goes round in one room; every fifth article is sold out."""
    draws = np.random.default_rng(0)
    rows = ["Artikel;Bezeichnung;Preis;lieferbar;Kategorien"]
    for number, sku in enumerate(ITEMS):
        room = ROOMS[number // 12]
        price = f"{draws.integers(1, 120)},{draws.integers(10, 99)}"
        stock = "false" if number % 5 == 0 else "true"
        rows.append(f'{sku};{THINGS[number % 6]} {room}, groß {number};{price};{stock};"[""{room}"", ""Haus""]"')
    (folder / "artikel.csv").write_text("\r\n".join(rows) + "\r\n", encoding="utf-8-sig")
    new = [f'N{number};Kühle Säge {number};9,90;true;"[""Garten"", ""Neuheit""]"' for number in range(3)]
    (folder / "neu.csv").write_text("\n".join([rows[0], *new]) + "\n", encoding="utf-8")
    (folder / "artikel2.csv").write_text("\n".join([*rows, *new]) + "\n", encoding="utf-8")
    (folder / "preise.csv").write_text("Artikel;Preis;lieferbar\nA1;1,50;false\nA5;1.200,00;true\n", encoding="utf-8")
    (folder / "ausgelistet.csv").write_text("Artikel\nA2\n", encoding="utf-8")
    orders = ["Kunde;sku;Datum"]
    for customer in range(60):
        start = int(draws.integers(12))
        for step in range(7):
            sku = ITEMS[12 * (customer % 3) + (start + step) % 12]
            orders.append(f"K{customer};{sku};{step + 1:02}.05.2024 {customer % 24:02}:30")
    (folder / "bestellungen.csv").write_text("\n".join(orders) + "\n", encoding="utf-8")
    (folder / "bestellungen2.csv").write_text(
        "\n".join([*orders, *(f"K{customer};N{customer % 3};20.05.2024" for customer in range(0, 60, 2))]) + "\n",
        encoding="utf-8",
    )
    (folder / "heute.csv").write_text("Kunde;sku;Datum\nK17;A1;2024-06-01\nK17;A2;2024-06-01T12:30\n", encoding="utf-8")
    (folder / "kunden.csv").write_text("Kunde\nK1\nK2\nK999\n", encoding="utf-8")


def commands() -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.strip().split("\n")]


@pytest.mark.slow
def test_the_first_hour(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    write_shop(tmp_path)
    said: dict[str, str] = {}
    for line in commands():
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as stop:
            main()
        out, errors = capsys.readouterr()
        assert not stop.value.code, (line, errors)
        assert all(len(shown) <= 80 for shown in out.split("\n") if "│" in shown), line
        said[line] = out
    second = next(number for number, line in enumerate(said) if "items update" in line)
    catalog = pl.read_csv(tmp_path / "artikel.csv", separator=";", decimal_comma=True)
    sold_out = set(catalog.filter(~pl.col("lieferbar"))["Artikel"])
    dear = set(catalog.filter(pl.col("Preis") >= 50)["Artikel"])
    for number, (line, out) in enumerate(said.items()):
        found = re.findall(r"│ +\d+ │ ([AN]\d+)", out)
        if " -k 5" not in line:
            continue
        assert len(found) == 5, line
        if number > second:
            assert "A2" not in found and ("laden2" in line or "A1" not in found), line
            continue
        assert not ("lieferbar=false" in line and sold_out & {*found}), line
        assert not ("Preis<50" in line and dear & {*found}), line
        assert not ("Kategorien=Küche" in line and {*found} - {*ITEMS[:12]}), line
    batch = pl.read_csv(tmp_path / "empfehlungen.csv")
    assert batch["user_id"].unique(maintain_order=True).to_list() == ["K1", "K2", "K999"]
    assert batch.group_by("user_id").len()["len"].to_list() == [10, 10, 10]
    assert not sold_out & {*batch["item_id"]}
    assert batch.filter(pl.col("fallback"))["user_id"].unique().to_list() == ["K999"]
    assert "groß" in batch["title"][0]
    assert {"N0", "N1", "N2"} <= {*sidrec.load(tmp_path / "runs" / "laden").catalog.item_ids}
