"""The paper's setting as values; what the paper leaves open is taken from the authors' published code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAPER: Mapping[str, Any] = {
    "d_model": 256,
    "n_heads": 8,
    "n_layers": 4,  # 6 on its largest set
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "max_history": 20,
    "attention": "bidirectional",
    "head": "shared",
    "positions": "authors",
    "samples": "every-prefix",
    "history_mask_weight": 3.0,  # tuned over 1..5
    "masking": {
        "next_item": "ratio",
        "history_ratio": "per-sequence",
        "history_input": "history",
        "history_scale": "sum",
    },
    "search": {"beam_size": 50, "order": "adaptive", "confidence": "all"},
    "embedding": {"encoder": "sentence-t5-base"},
    "tokenize": {
        "tokenizer": "multi-head-vqvae",
        "options": {
            "n_codes": 4,
            "codebook_size": 256,
            "code_width": 32,
            "commitment_weight": 0.25,
            "hidden": [512, 256],
            "pca": 128,
            "whiten": True,
            "training": {"epochs": 10_000, "batch_size": 2048, "learning_rate": 1e-3},
        },
    },
    "training": {
        "epochs": 150,
        "batch_size": 1024,
        "learning_rate": 3e-3,  # tuned over 5e-3, 3e-3, 1e-3
        "weight_decay": 0.005,  # tuned over 0.05, 0.005, 0.001
        "warmup": 0.1,
        "clip_norm": 1.0,
        "patience": 50,
    },
}
AUTO = "auto"
"""What is not named is chosen when the data is there, see sizing.py."""
PRESETS: Mapping[str, Mapping[str, Any]] = {AUTO: {}, "paper": PAPER}
