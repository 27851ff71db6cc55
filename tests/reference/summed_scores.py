"""Scoring items by the sum of their log-probabilities, item after item."""

from __future__ import annotations

from reference.masked_search import MASK, Codes, Ranked, Table, pending_slots


def slow_score_all(table: Table, user: int, n_codes: int, real: set[Codes]) -> Ranked:
    """Every ID by one prediction; best first, then by codes."""
    predicted = table(user, (MASK,) * n_codes)
    scored = [(float(sum(predicted[slot, code] for slot, code in enumerate(codes))), codes) for codes in real]
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


def slow_score_fitting(table: Table, user: int, n_codes: int, beam_size: int, real: set[Codes]) -> dict[Codes, float]:
    """The best codes of the surest slot; then every ID that has one, by a prediction that knows it."""
    nothing = (MASK,) * n_codes
    predicted = table(user, nothing)
    slot = pending_slots(predicted, nothing, "adaptive", real)[0]
    codes_there = sorted({codes[slot] for codes in real}, key=lambda code: (-predicted[slot, code], code))[:beam_size]
    scores = {}
    for codes in real:
        if codes[slot] in codes_there:
            beam = tuple(code if place == slot else MASK for place, code in enumerate(codes))
            rest = sum(float(table(user, beam)[place, code]) for place, code in enumerate(codes) if place != slot)
            scores[codes] = float(predicted[slot, codes[slot]]) + rest
    return scores
