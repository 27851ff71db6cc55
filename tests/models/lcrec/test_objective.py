from __future__ import annotations

import pytest
import torch

from sidrec.data.synthetic import clusters
from sidrec.models.lcrec.config import LCRecSettings
from sidrec.models.lcrec.language_model import small_model
from sidrec.models.lcrec.lessons import Lesson, id_behind_titles
from sidrec.models.lcrec.network import IdSpeaker
from sidrec.models.lcrec.objective import LessonObjective, Teller, group_loss
from sidrec.models.lcrec.words import Words
from sidrec.sids.semantic_ids import SemanticIds

DATA = clusters(n_clusters=4, cluster_size=8, n_users=20, length=6)
WORDS = Words.learned(DATA.catalog.titles, 300)
TINY = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32, "dropout": 0.0}


def network() -> IdSpeaker:
    torch.manual_seed(0)
    codes = torch.stack([torch.arange(32) // 8, torch.arange(32) % 8], 1).int().numpy()
    ids = SemanticIds(codes, (4, 8), DATA.catalog.item_ids.to_list())
    return IdSpeaker(ids, small_model(LCRecSettings(**TINY), WORDS.size), dropout=0.0).eval()


@pytest.mark.slow  # imports transformers
def test_a_lesson_in_tokens():
    one = network()
    teller = Teller(one, WORDS, most=16)
    said = WORDS.encode("thing for")
    tokens, n_answers = teller.tell(Lesson(("thing for", 9), (10,)))
    first = one.n_words + 3  # behind three tokens that are no codes
    assert tokens == [one.begin, *said, first + 1, first + 4 + 1, first + 1, first + 4 + 2]
    assert n_answers == 2
    tokens, n_answers = teller.tell(Lesson((9,), ("thing for",)))
    assert tokens[-len(said) - 1 :] == [*said, one.end] and n_answers == len(said) + 1


@pytest.mark.slow  # imports transformers
def test_a_long_title_takes_nothing_from_a_newer_one():
    teller, newest = Teller(network(), WORDS, most=4), WORDS.encode("lamp", 4)
    lesson = id_behind_titles(["thing for the garden and the house and the shed", "lamp"], 9)
    tokens, n_answers = teller.tell(lesson)
    end = len(tokens) - n_answers - len(WORDS.encode("Next item:", 4))
    assert tokens[end - len(newest) : end] == newest


@pytest.mark.slow  # imports transformers
@torch.no_grad()
def test_only_answers_are_learned():
    one = network()
    told = [([5, 6, 7, 8], 2), ([9, 4], 1)]
    table, total = one.table(), 0.0
    for tokens, count in told:
        log_probs = (one.hidden(torch.tensor([tokens]))[0] @ table.T).log_softmax(-1)
        total -= sum(float(log_probs[place - 1, tokens[place]]) for place in range(len(tokens) - count, len(tokens)))
    assert float(group_loss(one, told)) == pytest.approx(total, rel=1e-4)


def test_every_task_has_its_rows():
    objective = LessonObjective(DATA, LCRecSettings(), WORDS, None)
    n = len(objective.samples)
    assert objective.n_samples == 2 * n + 32
    window = objective.samples.items[objective.samples.starts[3] : objective.samples.ends[3]].tolist()
    assert objective.lesson(3, 0.9, 0.9).answer == tuple(window[1:])
    titles = objective.lesson(n + 3, 0.0, 0.99)
    assert titles.answer == (window[-1],) and "thing for the" in str(titles.prompt[1])
    ids = objective.lesson(n + 3, 0.9, 0.0)
    assert ids.prompt[1:-1] == (window[0],) and ids.answer == (DATA.catalog.titles[window[1]],)
    about = [objective.lesson(2 * n + 5, which, 0.0) for which in (0.0, 0.5, 0.9)]
    assert [lesson.answer for lesson in about] == [(DATA.catalog.titles[5],), (5,), (5,)]
    assert "looks for" in str(about[2].prompt[0])


def test_tasks_can_be_left_out():
    objective = LessonObjective(DATA, LCRecSettings(item_tasks=(), history_tasks=()), WORDS, None)
    assert objective.n_samples == len(objective.samples)
