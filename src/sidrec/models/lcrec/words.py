"""Text to tokens: by a tokenizer trained on the catalogue, or by the one that came with a language model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidrec.core.artifacts import Artifact
from sidrec.core.checked_files import damaged, reason
from sidrec.core.errors import InputError

WORDS_FILE = "words.json"
BASE_FILE = "tokenizer.json"


@dataclass(frozen=True)
class Words:
    """A tokenizer of the tokenizers library."""

    tokenizer: Any

    @classmethod
    def learned(cls, texts: Iterable[str], size: int) -> Words:
        """Byte pairs of the texts, in lower case: whatever is written can be read."""
        from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=sorted(alphabet), show_progress=False)
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @classmethod
    def of_base(cls, base: Path) -> Words:
        from tokenizers import Tokenizer

        file = base / BASE_FILE
        if not file.is_file():
            raise InputError(
                f"{base}: has no {BASE_FILE}; name the directory of a Hugging Face causal language model that was "
                "saved with a fast tokenizer."
            )
        try:
            return cls(Tokenizer.from_file(str(file)))
        except Exception as error:  # the library raises its own, undocumented kind
            raise InputError(f"{file}: cannot be read as a tokenizer ({reason(error)}).") from None

    def encode(self, text: str, most: int | None = None) -> list[int]:
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found[:most]

    @property
    def size(self) -> int:
        size: int = self.tokenizer.get_vocab_size()
        return size

    def write_files(self, directory: Path) -> None:
        (directory / WORDS_FILE).write_text(self.tokenizer.to_str(), encoding="utf-8")

    @classmethod
    def read_files(cls, artifact: Artifact) -> Words:
        from tokenizers import Tokenizer

        file = artifact.file(WORDS_FILE)
        try:
            return cls(Tokenizer.from_str(file.read_text(encoding="utf-8")))
        except Exception as error:  # the library raises its own, undocumented kind
            raise damaged(file, f"is no tokenizer ({reason(error)})") from None
