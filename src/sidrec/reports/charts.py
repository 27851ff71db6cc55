"""Charts as SVG text: bars and curves with their intervals, in the page itself and readable without any program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape as as_markup

from sidrec.core.plain_text import one_line

COLOURS = ("#2f6f9f", "#c8743a", "#4f8f5b", "#8a5aa6", "#b5475a", "#3f9a9a", "#8c7a2f", "#6b7280", "#c06fa0", "#4a58b0")
_INK, _PALE, _GRID = "#374151", "#6b7280", "#e5e7eb"
_FONT = 'font-family="system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    low: float
    high: float
    emphasised: bool = False


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    label: str
    points: tuple[Point, ...]


def bar_chart(title: str, bars: Sequence[Bar], width: int = 460) -> str:
    """Horizontal bars, one per row, with whiskers for the interval."""
    left, right, top, step = 8 + 7.0 * max(len(bar.label) for bar in bars), 62, 30, 26
    height = top + step * len(bars) + 26
    ticks = nice_ticks(0.0, max(max(bar.high for bar in bars), 1e-9), 4)
    span = width - left - right

    def at(value: float) -> float:
        return left + span * value / ticks[-1]

    parts = [_title(title)]
    for tick in ticks:
        parts.append(f'<line x1="{at(tick):.1f}" y1="{top}" x2="{at(tick):.1f}" y2="{height - 24}" stroke="{_GRID}"/>')
        parts.append(_text(at(tick), height - 8, _short(tick), "middle", _PALE))
    for row, bar in enumerate(bars):
        y = top + step * row + 4
        colour = COLOURS[0] if bar.emphasised else "#a9c3d6"
        parts.append(_text(left - 8, y + 13, bar.label, "end", _INK))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{max(at(bar.value) - left, 0):.1f}" height="18" rx="2" fill="{colour}"/>'
        )
        parts.append(f'<path d="M{at(bar.low):.1f} {y + 9}H{at(bar.high):.1f}" stroke="{_INK}" stroke-width="1.5"/>')
        parts += [
            f'<path d="M{at(end):.1f} {y + 5}v8" stroke="{_INK}" stroke-width="1.5"/>' for end in (bar.low, bar.high)
        ]
        parts.append(_text(at(bar.high) + 6, y + 13, f"{bar.value:.4f}", "start", _INK))
    return _svg(width, height, title, parts)


def line_chart(title: str, lines: Sequence[Line], x_title: str, *, width: int = 460, height: int = 250) -> str:
    """Curves over a common axis; where points have intervals, a band around the curve."""
    legend = len(lines) > 1
    left, right, top, bottom = 56, 8 + (7.0 * max(len(line.label) for line in lines) + 22 if legend else 10), 30, 44
    height = max(height, top + bottom + 16 * len(lines)) if legend else height
    points = [point for line in lines for point in line.points]
    xs = sorted({point.x for point in points})
    lows = [point.y if point.low is None else point.low for point in points]
    highs = [point.y if point.high is None else point.high for point in points]
    ticks = nice_ticks(min(lows), max(highs), 5)
    x_span, y_span = max(xs[-1] - xs[0], 1e-9), max(ticks[-1] - ticks[0], 1e-9)

    def spot(x: float, y: float) -> tuple[float, float]:
        across = left + (width - left - right) * ((x - xs[0]) / x_span if len(xs) > 1 else 0.5)
        return across, height - bottom - (height - top - bottom) * (y - ticks[0]) / y_span

    parts = [_title(title)]
    for tick in ticks:
        y = spot(xs[0], tick)[1]
        parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - right:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>')
        parts.append(_text(left - 6, y + 4, _short(tick), "end", _PALE))
    for x in xs if len(xs) <= 12 else xs[:: math.ceil(len(xs) / 10)]:
        parts.append(_text(spot(x, ticks[0])[0], height - bottom + 17, _short(x), "middle", _PALE))
    parts.append(_text((left + width - right) / 2, height - 8, x_title, "middle", _PALE))
    for number, line in enumerate(lines):
        colour, y = COLOURS[number % len(COLOURS)], top + 6 + 16 * number
        parts += _curve(line, colour, spot)
        if legend:
            parts.append(f'<path d="M{width - right + 10:.1f} {y}h12" stroke="{colour}" stroke-width="2.5"/>')
            parts.append(_text(width - right + 27, y + 4, line.label, "start", _INK))
    return _svg(width, height, title, parts)


def _curve(line: Line, colour: str, spot: Callable[[float, float], tuple[float, float]]) -> list[str]:
    parts = []
    upper = [spot(point.x, point.high) for point in line.points if point.high is not None]
    lower = [spot(point.x, point.low) for point in line.points if point.low is not None]
    if len(upper) > 1:
        outline = upper + lower[::-1]
        parts.append(f'<polygon points="{_joined(outline)}" fill="{colour}" opacity="0.15"/>')
    spots = [spot(point.x, point.y) for point in line.points]
    parts.append(f'<polyline points="{_joined(spots)}" fill="none" stroke="{colour}" stroke-width="2"/>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in spots]
    return parts


def nice_ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers that enclose both ends."""
    if high <= low:
        low, high = low - max(abs(low) * 0.1, 1e-4), high + max(abs(high) * 0.1, 1e-4)
    rough = (high - low) / about
    size = 10 ** math.floor(math.log10(rough))
    step = size * next(factor for factor in (1, 2, 5, 10) if factor * size >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _escape(text: str) -> str:
    return as_markup(one_line(text))


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img"'
    )
    return f'{head} aria-label="{_escape(title)}" {_FONT}>' + "".join(parts) + "</svg>"


def _title(text: str) -> str:
    return f'<text x="4" y="15" fill="{_INK}" font-weight="600" font-size="13">{_escape(text)}</text>'


def _text(x: float, y: float, text: str, anchor: str, colour: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{_escape(text)}</text>'


def _joined(spots: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)


def _short(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") or "0"
