"""A small language model that speaks IDs of three codes, and a directory with a base model, both started at random."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sidrec.models.lcrec.config import LCRecSettings
from sidrec.models.lcrec.language_model import small_model
from sidrec.models.lcrec.network import IdSpeaker
from sidrec.models.lcrec.words import Words
from sidrec.sids.semantic_ids import SemanticIds

TINY: dict[str, Any] = {"d_model": 16, "n_layers": 2, "n_heads": 2, "d_ff": 32, "dropout": 0.0}


def speaker() -> IdSpeaker:
    torch.manual_seed(0)
    numbers = torch.arange(64)
    codes = torch.stack([numbers // 16, numbers // 2 % 8, numbers % 2], 1).int().numpy()
    ids = SemanticIds(codes, (4, 8, 2), [str(number) for number in range(64)])
    return IdSpeaker(ids, small_model(LCRecSettings(**TINY), 300), dropout=0.0).eval()


def write_base(folder: Path, texts: list[str], width: int = 16) -> Path:
    """A Llama directory as the transformers library writes it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    words = Words.learned(texts, 300)
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=words.size,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    words.tokenizer.save(str(folder / "tokenizer.json"))
    return folder
