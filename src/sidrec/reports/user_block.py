"""One example user in a report, with the generation folded away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sidrec.core.pages.fill import fill
from sidrec.core.pages.markdown import code_block, text
from sidrec.reports.examples import UserExample

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class UserBlock:
    number: int
    user: UserExample

    def html(self) -> Markup:
        return fill("user.html", "sidrec.reports", number=self.number, user=self.user)

    def markdown(self) -> str:
        user = self.user
        history = "\n".join(f"- {text(title)}" for title in user.history[-8:])
        listed = "\n".join(
            f"{rank}. {text(title)}{' **(came next)**' if rank == user.rank else ''}"
            for rank, title in enumerate(user.listed, start=1)
        )
        return (
            f"User {self.number} had:\n\n{history}\n\nand then in truth: {text(user.came_next)} ({user.standing}).\n\n"
            f"The model's list:\n\n{listed}\n\n{code_block(chr(10).join(user.trace))}"
        )
