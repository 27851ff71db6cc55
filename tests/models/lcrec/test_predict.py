from __future__ import annotations

import pytest
import torch

from reference.id_speaker import speaker
from sidrec.models.lcrec.predict import make_predict


@pytest.mark.slow  # imports transformers
@torch.no_grad()
def test_what_is_kept_says_what_a_fresh_reading_says():
    """Every prefix of an ID behind the history, read anew without any cache."""
    one = speaker()
    history = torch.tensor([[3, 9], [30, 1]])
    predict = make_predict(one, [one.begin, 5, 6], history)
    asked = torch.full((2, 1, 3), -1)
    first = predict(asked, torch.zeros(2, 1, 1).long())
    beams = torch.tensor([[[0, -1, -1], [2, -1, -1]], [[1, -1, -1], [3, -1, -1]]])
    second = predict(beams, torch.ones(2, 2, 1).long())
    deeper = torch.tensor([[[2, 1, -1], [0, 5, -1], [2, 0, -1]], [[3, 1, -1], [3, 2, -1], [1, 7, -1]]])
    third = predict(deeper, torch.full((2, 3, 1), 2))
    for user in range(2):
        torch.testing.assert_close(first[user, 0, 0], fresh(one, history[user], []), atol=1e-5, rtol=0)
        for beam in range(2):
            prefix = beams[user, beam, :1].tolist()
            torch.testing.assert_close(second[user, beam, 0], fresh(one, history[user], prefix), atol=1e-5, rtol=0)
        for beam in range(3):
            prefix = deeper[user, beam, :2].tolist()
            torch.testing.assert_close(third[user, beam, 0], fresh(one, history[user], prefix), atol=1e-5, rtol=0)


def fresh(one, history: torch.Tensor, prefix: list[int]) -> torch.Tensor:
    codes = [one.n_words + one.offsets[slot] + code for slot, code in enumerate(prefix)]
    tokens = [one.begin, 5, 6, *one.id_tokens(history).flatten().tolist(), *codes]
    return one.log_probs(one.hidden(torch.tensor([tokens]))[0, -1], len(prefix))
