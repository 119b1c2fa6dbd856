"""The command `dialwatch ground-truth propose`: cases that a judge makes from documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialwatch.commands.ground_truth.cases import (
    JudgeOption,
    NamedDeploymentOption,
    WhoOption,
    asked_judge,
    checked_deployment,
    who_of,
)
from dialwatch.commands.options import ConfigOption, LakeOption, check_name, open_filled, settings_of
from dialwatch.errors import ConfigError

if TYPE_CHECKING:
    from evaluator.ground_truth import Document, Synthesis

_ENDINGS = (".txt", ".md", ".markdown", ".rst")


def propose(
    deployment: NamedDeploymentOption,
    from_documents: Annotated[
        list[Path],
        typer.Option(metavar="PATH", help="Text file (.txt, .md, .rst), or a folder of such; may be given again."),
    ],
    judge: JudgeOption = None,
    most: Annotated[int, typer.Option(min=1, help="Chunks that the judge is asked about, two calls each.")] = 20,
    documents: Annotated[
        list[str] | None,
        typer.Option("--document", help="Document in scope of who asks, as in ground_truth.documents."),
    ] = None,
    who: WhoOption = None,
    lake: LakeOption = None,
    config: ConfigOption = None,
) -> None:
    """Let a judge make questions with answers and facts from documents. Cases are proposed: a person accepts them."""
    check_name("--deployment", deployment, "give a name")
    by = who_of(who)
    settings = settings_of(config, lake)
    from evaluator.answers import DeploymentTables
    from evaluator.ground_truth import propose_from_documents

    opened = open_filled(settings)
    checked_deployment(opened, deployment)
    texts = list(_read(from_documents))
    with asked_judge(settings, opened, judge, "makes the cases") as asked:
        tables = DeploymentTables.of(opened, deployment)
        made = propose_from_documents(tables, asked, texts, documents or (), most, by, datetime.now(UTC))
    _print(made)


def _read(paths: Sequence[Path]) -> Iterator[Document]:
    from evaluator.ground_truth import Document

    for path in _files(paths):
        try:
            yield Document(path.name, path.read_text("utf-8-sig"))
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{path} is no text in UTF-8: convert it first") from None


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(one for one in path.rglob("*") if one.suffix.lower() in _ENDINGS and one.is_file())
        if not found:
            raise ConfigError(f"{path} holds no file that ends in {', '.join(_ENDINGS)}")
        yield from found


def _print(made: Synthesis) -> None:
    spend = made.spend
    typer.echo(
        f"{made.cases:,} cases proposed; {spend.calls:,} calls, {spend.prompt_tokens:,} tokens read, "
        f"{spend.completion_tokens:,} written, cost {spend.cost:.4f}"
    )
    for reason, count in made.left.items():
        typer.echo(f"{count:,} chunks without a case: {reason}")
