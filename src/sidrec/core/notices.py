"""What is said without refusing anything."""

from __future__ import annotations


class SidrecWarning(UserWarning):
    """Something was done as asked, and is probably not what was meant."""
