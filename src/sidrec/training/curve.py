"""The learning curve as a picture."""

from __future__ import annotations

from pathlib import Path

from sidrec.core.storage import storage_errors


def draw_curve(path: Path, history: list[dict[str, float]], *, title: str, best_epoch: int | None = None) -> None:
    """Losses on the left axis, validation figures on the right, the kept epoch as a line."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    losses = sorted({key for entry in history for key in entry if key == "loss" or key.startswith("loss/")})
    figures = sorted({key for entry in history for key in entry if key.startswith("validation/")})
    picture = Figure(figsize=(8, 4.5), layout="constrained")
    left = picture.subplots()
    for key in losses:
        left.plot(*_points(history, key), label=key)
    left.set(xlabel="epoch", ylabel="training loss", title=title)
    handles = left.get_lines()[:]
    if figures:
        right = left.twinx()
        for key in figures:
            right.plot(*_points(history, key), "--", marker=".", label=key)
        right.set_ylabel("validation")
        handles += right.get_lines()[:]
    if best_epoch is not None:
        left.axvline(best_epoch, color="grey", linewidth=0.8)
    left.legend(handles=handles, fontsize="small")
    # the same history gives the same file
    with mpl.rc_context({"svg.hashsalt": "sidrec"}), storage_errors(path):
        picture.savefig(path, format="svg", metadata={"Date": None})


def _points(history: list[dict[str, float]], key: str) -> tuple[list[float], list[float]]:
    points = [(entry["epoch"], entry[key]) for entry in history if key in entry]
    return [x for x, _ in points], [y for _, y in points]
