"""Training steps of LC-Rec for THE loop: lessons drawn for the batch, told in tokens, learned group by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import nn

from sidrec.data.dataset import Dataset
from sidrec.embeddings.item_text import clean, item_texts
from sidrec.models.lcrec import lessons
from sidrec.models.lcrec.config import LCRecSettings
from sidrec.models.lcrec.lessons import Lesson, Part
from sidrec.models.lcrec.network import IdSpeaker
from sidrec.models.lcrec.words import Words
from sidrec.models.samples import Samples
from sidrec.nn.item_losses import cross_entropy
from sidrec.training.batches import length_groups
from sidrec.training.objective import Batch, Losses

GROUP_TOKENS = 8192
"""Tokens per forward pass: larger temporaries cost page faults, smaller ones starve the matrix products."""


class Teller:
    """Lessons in tokens; what has been told once is remembered."""

    def __init__(self, network: IdSpeaker, words: Words, most: int) -> None:
        self.network, self.words, self.most = network, words, most
        every = torch.arange(len(network.item_tokens.codes) - 1, device=network.device)
        self.ids: list[list[int]] = network.id_tokens(every).tolist()
        self._told: dict[str, list[int]] = {}

    def tell(self, lesson: Lesson) -> tuple[list[int], int]:
        """All tokens of a lesson, and how many of them are the answer; a text that is an answer has an end."""
        prompt = [self.network.begin, *(token for part in lesson.prompt for token in self._tokens(part))]
        answer = [token for part in lesson.answer for token in self._tokens(part)]
        if isinstance(lesson.answer[-1], str):
            answer.append(self.network.end)
        return prompt + answer, len(answer)

    def _tokens(self, part: Part) -> list[int]:
        if not isinstance(part, str):
            return self.ids[part]
        if part not in self._told:
            self._told[part] = self.words.encode(part, self.most)
        return self._told[part]


@dataclass(frozen=True)
class Items:
    """What the lessons say of each item."""

    titles: list[str]
    intentions: list[str]

    @classmethod
    def of(cls, data: Dataset) -> Items:
        titles = [clean(title) for title in data.catalog.titles]
        texts = item_texts(data.catalog)
        wanted = [lessons.intention_of(title, text) for title, text in zip(titles, texts, strict=True)]
        return cls(titles, wanted)


class LessonObjective:
    """Rows: every window of a user's items as next items, then as a task that mixes titles in; then every item."""

    def __init__(
        self,
        data: Dataset,
        settings: LCRecSettings,
        words: Words,
        validate: Callable[[nn.Module], dict[str, float]] | None,
    ) -> None:
        self.samples = Samples.windows(data.train_sequences(), settings.max_history)
        self.items, self.settings, self.words = Items.of(data), settings, words
        self.n_mixed = len(self.samples) if settings.history_tasks else 0
        n_items = data.n_items if settings.item_tasks else 0
        self.n_samples = len(self.samples) + self.n_mixed + n_items
        self._validate = validate
        self._teller: Teller | None = None

    def parts(self, module: nn.Module, batch: Batch) -> Iterator[Losses]:
        network = cast(IdSpeaker, module)
        luck = torch.rand(len(batch.rows), 2, generator=batch.generator).tolist()
        teller = self._teller_of(network)
        told = [teller.tell(self.lesson(row, *chance)) for row, chance in zip(batch.rows.tolist(), luck, strict=True)]
        n_answers = sum(count for _, count in told)
        mine = np.arange(len(told))[batch.mine]
        lengths = np.array([len(told[row][0]) for row in mine.tolist()])
        for group in length_groups(lengths, max_tokens=GROUP_TOKENS):
            loss = group_loss(network, [told[row] for row in mine[group].tolist()]) / n_answers
            yield Losses(loss, {})

    def lesson(self, row: int, which: float, where: float) -> Lesson:
        """The lesson of a row; the two numbers in 0..1 choose its task and where a history is cut."""
        n_windows = len(self.samples)
        if row >= n_windows + self.n_mixed:
            return self._about_item(row - n_windows - self.n_mixed, which)
        window = self._window(row % n_windows)
        return lessons.next_item(window) if row < n_windows else self._mixed(window, which, where)

    def _window(self, row: int) -> list[int]:
        window: list[int] = self.samples.items[self.samples.starts[row] : self.samples.ends[row]].tolist()
        return window

    def _mixed(self, window: list[int], which: float, where: float) -> Lesson:
        cut = 1 + int(where * (len(window) - 1))
        history, target = window[:cut], window[cut]
        tasks = self.settings.history_tasks
        if tasks[int(which * len(tasks))] == "ids-to-title":
            return lessons.title_behind_ids(history, self.items.titles[target])
        told = [self.items.titles[item] for item in history[-self.settings.told_titles :]]
        return lessons.id_behind_titles(told, target)

    def _about_item(self, item: int, which: float) -> Lesson:
        tasks, title = self.settings.item_tasks, self.items.titles[item]
        task = tasks[int(which * len(tasks))]
        if task == "id-to-title":
            return lessons.title_of_id(item, title)
        if task == "title-to-id":
            return lessons.id_of_title(title, item)
        return lessons.id_of_intention(self.items.intentions[item], item)

    def _teller_of(self, network: IdSpeaker) -> Teller:
        if self._teller is None:
            self._teller = Teller(network, self.words, self.settings.text_tokens)
        return self._teller

    def validate(self, module: nn.Module) -> dict[str, float]:
        return self._validate(module) if self._validate else {}

    def after_epoch(self, module: nn.Module, epoch: int, generator: torch.Generator) -> dict[str, float]:  # noqa: ARG002
        return {}


def group_loss(network: IdSpeaker, told: list[tuple[list[int], int]]) -> torch.Tensor:
    """-sum log P of all answer tokens, each behind everything before it."""
    width = max(len(tokens) for tokens, _ in told)
    tokens = torch.tensor([row + [network.pad] * (width - len(row)) for row, _ in told], device=network.device)
    ends = torch.tensor([len(row) for row, _ in told])
    firsts = ends - torch.tensor([count for _, count in told])
    places = torch.arange(1, width)
    learned = ((places >= firsts[:, None]) & (places < ends[:, None])).to(network.device)  # (rows, width - 1)
    hidden = network.hidden(tokens[:, :-1])[learned]
    return cross_entropy(hidden, network.table(), tokens[:, 1:][learned])
