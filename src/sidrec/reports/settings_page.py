"""docs/settings.md: every setting with its default and meaning, made from the settings classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sidrec.core.pages.markdown import cell
from sidrec.core.settings import Settings
from sidrec.core.settings_table import SettingLine, settings_table
from sidrec.data.build_dataset import PrepareSettings
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.evaluation.protocol import EvaluationSettings
from sidrec.models.id_search import SearchSettings
from sidrec.models.registry import MODELS
from sidrec.sids.registry import TOKENIZERS
from sidrec.sids.tokenize import TokenizeSettings
from sidrec.training.options import TrainingOptions

_HEAD = """# Settings

Made by `sidrec models --markdown` from the settings classes; a test keeps it current. Recipes and `--set` name a
setting as it stands here, `--set training.epochs=40`; in Python sections are dictionaries, `training={"epochs": 40}`.
`sidrec models KEY` shows all settings of one model with its own defaults."""
_SECTIONS: dict[str, tuple[str, Settings]] = {
    "training": ("How every trained model is trained", TrainingOptions()),
    "embedding": ("How items get vectors; also `sidrec embed --set`", EmbeddingSettings()),
    "tokenize": ("How items get semantic IDs", TokenizeSettings()),
    "search": ("How IDs are searched, for models that generate them", SearchSettings()),
}


def settings_page() -> str:
    """The whole page, as Markdown."""
    parts = [_HEAD, "## Sections that models share"]
    parts += [
        f"### {name}\n{words}.\n\n{_table(settings_table(of, f'{name}.'))}" for name, (words, of) in _SECTIONS.items()
    ]
    parts += ["## Models\nSettings of shared sections stand here only where a model has another default."]
    for row in MODELS:
        own = _table(_own(row.settings({}, where=row.key)))
        parts.append(f"### {row.key}\n{row.summary[:1].upper()}{row.summary[1:]}.\n\n{own}")
    parts.append("## Tokenizers\nAs `tokenize.options`, or `sidrec tokenize --set`.")
    for kind in TOKENIZERS:
        parts.append(f"### {kind.key}\n{_table(_own(kind.load_class().settings_class()))}")
    parts.append(f"## sidrec data prepare\n{_table(settings_table(PrepareSettings()))}")
    parts.append(f"## sidrec evaluate\n{_table(settings_table(EvaluationSettings()))}")
    return "\n\n".join(parts) + "\n"


def _own(settings: Settings) -> Iterator[SettingLine]:
    shared = {
        line.name: str(line.value) for name, (_, of) in _SECTIONS.items() for line in settings_table(of, f"{name}.")
    }
    return (line for line in settings_table(settings) if shared.get(line.name) != str(line.value))


def _table(lines: Iterable[SettingLine]) -> str:
    rows = [f"| `{line.name}` | {cell(str(line.value))} | {cell(line.meaning)} |" for line in lines]
    return "\n".join(["| setting | default | meaning |", "|---|---|---|", *rows]) if rows else "Nothing to set."
