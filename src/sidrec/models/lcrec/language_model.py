"""The causal language model behind LC-Rec: a small one started at random, or a named one with an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidrec.core.checked_files import reason
from sidrec.core.errors import InputError
from sidrec.models.lcrec.config import LCRecSettings, LoraSettings

LONGEST = 4096
"""Places that the small model knows; a history has far fewer."""


def small_model(settings: LCRecSettings, n_words: int) -> Any:
    """Llama's shape; its words go in and come out by one table."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=n_words,
        hidden_size=settings.d_model,
        intermediate_size=settings.d_ff,
        num_hidden_layers=settings.n_layers,
        num_attention_heads=settings.n_heads,
        max_position_embeddings=LONGEST,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
        use_cache=False,
    )
    return LlamaForCausalLM(config)


def named_model(base: Path) -> Any:
    """A model of the disk, never of the net, and never one with code of its own or pickled weights."""
    import torch
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(
            str(base), local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(
            f"{base}: cannot be read as a Hugging Face causal language model with safetensors ({reason(error)})."
        ) from None


def with_adapter(model: Any, lora: LoraSettings) -> Any:
    """All weights frozen but low-rank additions to every linear layer of the body."""
    from peft import LoraConfig, inject_adapter_in_model

    model.requires_grad_(False)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return inject_adapter_in_model(config, model)
