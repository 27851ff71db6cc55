"""Seeded data whose right answer is known, and one realistic synthetic shop."""

from sidrec.data.synthetic.demo_shop import demo_shop
from sidrec.data.synthetic.known_answers import clusters, cycle, habits

__all__ = ["clusters", "cycle", "demo_shop", "habits"]
