"""Slow twin of the quantiser: one item, one slot, one code at a time."""

from __future__ import annotations


def squared(one, other):
    return sum((float(a) - float(b)) ** 2 for a, b in zip(one, other, strict=True))


def nearest(target, codebook):
    distances = [squared(target, code) for code in codebook]
    return distances.index(min(distances))


def parallel_codes(latents, codebooks):
    """`latents[item][slot]` against `codebooks[slot]`."""
    return [[nearest(part, book) for part, book in zip(item, codebooks, strict=True)] for item in latents]


def residual_codes(latents, codebooks):
    """`latents[item]` against the first codebook, what is left against the second, and so on."""
    result = []
    for item in latents:
        left, codes = [float(x) for x in item], []
        for book in codebooks:
            code = nearest(left, book)
            codes.append(code)
            left = [a - float(b) for a, b in zip(left, book[code], strict=True)]
        result.append(codes)
    return result


def distance_to_sum(latent, codebooks, codes):
    """Squared distance from a latent to the sum of the chosen codes."""
    total = [sum(float(book[code][i]) for book, code in zip(codebooks, codes, strict=True)) for i in range(len(latent))]
    return squared(latent, total)
