"""The report of one or more benchmarks: one page that needs nothing else, the same as Markdown with its pictures beside
it, and a CSV per table."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sidrec.core.artifacts import MANIFEST, Origin, write
from sidrec.core.errors import ArtifactError, StorageError
from sidrec.core.pages import markdown
from sidrec.core.pages.blocks import Block, Charts, Facts, Heading, Words
from sidrec.core.pages.page import render_page
from sidrec.core.pages.tables import Table
from sidrec.core.progress import Progress, SilentProgress
from sidrec.core.replacing import always
from sidrec.reports.against import against_table
from sidrec.reports.claims import check_claim
from sidrec.reports.examples import user_examples
from sidrec.reports.health import health_table
from sidrec.reports.overview import data_table, facts
from sidrec.reports.published import published
from sidrec.reports.runs import Benchmark, SectionRuns, read_benchmarks
from sidrec.reports.section_charts import learning_chart, result_charts
from sidrec.reports.section_tables import claim_table, figures_table, others_table
from sidrec.reports.summary import SectionSummary, summarise
from sidrec.reports.target_counts import counts_table
from sidrec.reports.user_block import UserBlock

KIND = "report"
PAGE, MARKDOWN = "index.html", "report.md"


@dataclass(frozen=True)
class Report:
    """Where it was written and what it holds."""

    out: Path
    title: str
    sections: list[SectionSummary]
    problems: list[str]

    @property
    def page(self) -> Path:
        return self.out / PAGE


def build_report(paths: Sequence[Path], out: Path, progress: Progress | None = None, *, n_examples: int = 3) -> Report:
    """Read the benchmarks and write the report into `out`, with so many users as examples."""
    progress, out = progress or SilentProgress(), Path(out)
    for path in (*paths, out):
        _refuse_bare_report(Path(path), written=path is out)
    benchmarks = read_benchmarks(paths)
    summaries, blocks = [], _overview(benchmarks)
    runs = [section for bench in benchmarks for section in bench.sections]
    with progress.task("report", total=len(runs)) as task:
        for section in runs:
            summaries.append(summarise(section))
            blocks += _section(summaries[-1], several=_repeats(section, runs))
            task.advance()
    blocks += [block for bench in benchmarks for block in _tokenizers(bench)]
    blocks += [block for bench in benchmarks[:1] for block in _users(bench, n_examples)]
    title = benchmarks[0].plan.title if len(benchmarks) == 1 else "Benchmarks"
    _write(out, title, blocks)
    return Report(out, title, summaries, [problem for bench in benchmarks for problem in bench.problems])


def _overview(benchmarks: list[Benchmark]) -> list[Block]:
    blocks: list[Block] = [Heading("What was run", "overview")]
    for bench in benchmarks:
        blocks.append(Facts(tuple(facts(bench))))
        blocks += [Words(f"Missing: {problem}", "warning") for problem in bench.problems]
    return [*blocks, Heading("Data", "data", 3), data_table(benchmarks)]


def _section(summary: SectionSummary, *, several: bool) -> list[Block]:
    runs = summary.runs
    section, name = runs.section, runs.section.published or runs.section.name
    anchor = runs.name
    blocks: list[Block] = [Heading(f"{section.title} ({runs.dataset})" if several else section.title, anchor)]
    if section.question:
        blocks.append(Words(section.question, "question"))
    beside = published().beside(name, runs.published_dataset)
    blocks.append(figures_table(summary, beside))
    charts = tuple(result_charts(summary))
    if charts:
        blocks.append(Charts(charts, anchor))
    others = published().by_others(name, runs.published_dataset)
    if others:
        blocks.append(others_table(f"{anchor}-others", others))
    if section.against:
        blocks.append(against_table(f"{anchor}-against", summary))
    if section.by_target_count:
        blocks.append(counts_table(f"{anchor}-counts", runs))
    blocks += _claim(runs, name)
    learning = learning_chart(summary)
    return [*blocks, Charts((learning,), f"{anchor}-learning")] if learning else blocks


def _claim(runs: SectionRuns, name: str) -> list[Block]:
    claim = published().claim(name)
    if claim is None:
        return []
    verdict = check_claim(claim, runs)
    as_what = "with the committed recipes" if runs.section.training == "recipe" else f"at scale {runs.plan.scale}"
    here = f"Here, on {runs.dataset} {as_what}"
    words: list[Block] = [Words(f"The paper says: {claim.text}. {here}: {verdict.words}.", "verdict")]
    return [*words, claim_table(f"{runs.name}-claim", verdict, runs.judge)] if verdict.findings else words


def _tokenizers(bench: Benchmark) -> list[Block]:
    table = health_table(bench)
    return [] if table is None else [Heading("Health of the semantic IDs", "health"), table]


def _users(bench: Benchmark, n_users: int) -> list[Block]:
    found = user_examples(bench, n_users) if n_users > 0 else None
    if found is None:
        return []
    words = f"Recommended by {found.model} on {found.dataset}; hits and misses are both shown on purpose."
    users = [UserBlock(number, user) for number, user in enumerate(found.users, start=1)]
    return [Heading("A few users", "users"), Words(words), *users]


def _repeats(section: SectionRuns, runs: Sequence[SectionRuns]) -> bool:
    return sum(other.section.title == section.section.title for other in runs) > 1


def _refuse_bare_report(path: Path, *, written: bool) -> None:
    """A report is made of a benchmark, never of a report; one without a manifest is not ours to replace."""
    if not ((path / PAGE).is_file() and (path / MARKDOWN).is_file()):
        return
    if written and not (path / MANIFEST).is_file():
        words = "holds a report of an earlier version, which does not say which of its files are its own"
        raise StorageError(f"{path}: {words}; remove the folder and make the report again.", arguments=("out",))
    if not written:
        words = "is a report itself; make it anew with `sidrec report` from the folder that `sidrec benchmark` wrote."
        raise ArtifactError(f"{path}: {words}", arguments=("runs",))


def _write(out: Path, title: str, blocks: Sequence[Block]) -> None:
    page = render_page(title, blocks)
    origin = Origin(KIND, made_from={"content": hashlib.sha256(page.encode()).hexdigest()})
    with write(out, origin, gives_way=always) as folder:
        (folder / PAGE).write_text(page, encoding="utf-8")
        text = "\n".join([f"# {markdown.text(title)}\n", *(block.markdown() for block in blocks)])
        (folder / MARKDOWN).write_text(text, encoding="utf-8")
        for block in blocks:
            if isinstance(block, Table):
                (folder / f"{block.name}.csv").write_text(block.csv(), encoding="utf-8")
            if isinstance(block, Charts):
                for name, picture in block.files().items():
                    (folder / name).write_text(picture, encoding="utf-8")
