"""`dialwatch judge calibrate`."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from dialwatch.cli import app
from dialwatch.config_loading import load_settings
from evaluator.calibration import CalibrationError, scored_answers, with_labels_of_lake, with_likes
from lake.spec.schemas import PARSED_LOGS, SCORES, USER_SIGNALS
from lake.tables.lake import Lake
from tests.evaluator.judges.scripted_server import Request, Send, fails, says, serving
from tests.evaluator.metrics.llm.judging import answered, judging, prompt, properties

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["judge", "calibrate", *arguments], env={"COLUMNS": "140"})


def labelled(seed: int, answers: int, labels: int) -> pd.DataFrame:
    """Answers of which 70 % are good, scored by a judge with TPR 0.95 and TNR 0.7."""
    chance = np.random.default_rng(seed)
    good = chance.random(answers) < 0.7
    score = np.where(good, chance.random(answers) < 0.95, chance.random(answers) < 0.3).astype(float)
    return pd.DataFrame({"score": score, "label": np.where(np.arange(answers) < labels, good.astype(float), np.nan)})


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Four hundred scored answers, of two versions of the metric and one of another; the first 200 are rated."""
    lake = Lake(str(tmp_path / "lake"))
    table = labelled(5, 400, 200)
    logs, scores, signals = [], [], []
    for i, (score, label) in enumerate(table.itertuples(index=False)):
        logs.append({"event_id": f"e{i}", "response_ids": [f"r{i}", f"x{i}"], "date": date(2026, 11, 20)})
        logs[-1] |= {"kind": "chat_completion", "is_entry": True, "status": 200, "answer": "word " * (i % 7)}
        row: dict[str, Any] = {
            "event_id": f"e{i}",
            "chat_id": f"c{i // 2}",
            "metric": "faithfulness_claims",
            "value": score,
        }
        row |= {"date": date(2026, 11, 20), "sampling_probability": 0.5, "scored_at": AT, "metric_version": "2"}
        scores += [row, row | {"metric_version": "1", "value": 1.0 - score, "scored_at": AT.replace(hour=1)}]
        scores.append(row | {"metric": "cheap", "value": score if i % 50 else 1.0 - score})
        if label == label:
            signal = {"signal_id": f"s{i}", "response_id": f"x{i}", "signal": "like", "value": 2 * label - 1}
            signals.append(signal | {"confidence": 1.0, "origin": "explicit", "date": date(2026, 11, 20)})
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows(logs))
    lake.table(SCORES, "rag").append(SCORES.rows(scores))
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(signals))
    return lake


@pytest.mark.parametrize("option", ["--html", "--page"])
def test_a_file_of_scores_and_labels_is_reported(option: str, tmp_path: Path) -> None:
    """The report gives agreement, the three means, what more labels bring, and the page holds the same."""
    file, page = tmp_path / "labels.csv", tmp_path / "page.html"
    labelled(1, 2000, 150).to_csv(file, index=False)
    done = run(str(file), option, str(page))
    assert done.exit_code == 0, done.output
    assert "150 of 2,000 scored answers are labelled; agreement beyond chance is usable" in done.output
    for name in ("kappa", "TPR", "TNR", "AUROC", "judge alone", "labels alone", "corrected", "300 labels"):
        assert name in done.output
        assert f">{name}</th>" in page.read_text()
    assert "The judge's own mean is outside of the corrected interval" in done.output


def test_labels_are_read_as_tables_are_that_are_scored(tmp_path: Path) -> None:
    """In capitals too, with a byte order mark, and with labels in words; an answer may be empty."""
    rows = ["score,label,answer", *["0.9,True,Yes", "0.2,false,", "0.8,1,Yes", "0.1,0,"] * 10]
    (tmp_path / "LABELS.CSV").write_text("\n".join(rows), encoding="utf-8-sig")
    done = run(str(tmp_path / "LABELS.CSV"))
    assert done.exit_code == 0, done.output
    assert "40 of 40 scored answers are labelled" in done.output
    assert re.search(r"accuracy +1\.000", done.output)


@pytest.mark.parametrize(
    ("threshold", "tpr", "tnr"), [([], "1.000", "0.333"), (["--threshold", "0.8"], "0.667", "1.000")]
)
def test_a_threshold_says_from_which_score_on_an_answer_passes(
    tmp_path: Path, threshold: list[str], tpr: str, tnr: str
) -> None:
    """Labels are yes from 0.5 on, whatever it is; 0.8 is at least 0.8; the report names a threshold that was given."""
    rows = [(1.0, 1), (0.8, 1), (0.6, 0.5), (0.7, 0), (0.79, 0.4), (0.2, 0)] * 4
    pd.DataFrame(rows, columns=["score", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    done = run(str(tmp_path / "labels.csv"), *threshold)
    assert done.exit_code == 0, done.output
    assert re.search(rf"TPR +{tpr} ", done.output)
    assert re.search(rf"TNR +{tnr} ", done.output)
    assert ("a score of 0.8 or more being a yes" in done.output) == bool(threshold)


def test_labels_are_joined_with_the_scores_of_a_deployment(lake: Lake, tmp_path: Path) -> None:
    """Labels by any of an answer's response ids meet the newest version's scores; conversations are the unit."""
    table = labelled(5, 400, 200).dropna()
    labels = pd.DataFrame({"response_id": [f"r{i}" for i in range(200)], "label": table["label"]})
    labels.to_json(tmp_path / "labels.jsonl", orient="records", lines=True)
    given = [str(tmp_path / "labels.jsonl"), "--lake", lake.root, "--deployment", "rag"]
    done = run(*given, "--compare", "cheap")
    assert done.exit_code == 0, done.output
    assert "faithfulness_claims of rag: 200 of 400 scored answers are labelled" in done.output
    assert "labelled, of 100 questions" in done.output
    expected = float((table["score"] == table["label"]).mean())
    assert f"accuracy        {expected:.3f}" in done.output
    assert "cheap instead" in done.output
    assert "length" in done.output


def test_likes_tell_of_agreement_but_of_no_mean(lake: Lake) -> None:
    """People choose what to rate, so there is no corrected mean, and the report says why."""
    done = run("--likes", "--lake", lake.root, "--deployment", "rag")
    assert done.exit_code == 0, done.output
    assert "200 of 400 scored answers are labelled" in done.output
    assert "corrected  " not in done.output
    assert "People chose what to rate" in done.output


def test_labels_of_the_pages_are_read_and_beat_ratings(lake: Lake) -> None:
    """Of each person the last label counts; where as many say right as wrong the answer has no label at all."""

    def label(number: int, word: str, who: str, minute: int = 0) -> dict[str, Any]:
        said = {"signal_id": f"l{number}{word}{who}", "response_id": f"e{number}", "signal": word, "origin": "label"}
        said |= {"value": 1.0 if word == "right" else -1.0, "confidence": 1.0, "user_id": who}
        return said | {"date": AT.date(), "signaled_at": AT.replace(minute=minute)}

    labels = [label(number, "right", "ann") for number in range(190, 230)]
    labels += [label(190, "wrong", "ann", 1), label(191, "wrong", "bob")]
    lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows(labels))
    scored = scored_answers(lake, "rag", "faithfulness_claims")
    alone = with_labels_of_lake(lake, "rag", scored).set_index("event_id")["label"]
    assert alone.notna().sum() == 39
    assert (alone["e190"], alone["e192"], alone.isna()["e191"]) == (0, 1, True)
    both = with_likes(lake, "rag", scored).set_index("event_id")
    rated = with_likes(lake, "rag", scored)["label"].notna().sum()
    assert rated == 229
    assert both["label"].isna()["e191"]
    assert set(both.loc[[f"e{n}" for n in range(192, 230)], "label"]) == {1.0}
    done = run("--labelled", "--lake", lake.root, "--deployment", "rag")
    assert "39 of 400 scored answers are labelled" in done.output
    assert "229 of 400" in run("--likes", "--lake", lake.root, "--deployment", "rag").output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--labelled", "--deployment", "rag"], "nobody has labelled an answer of rag that was scored"),
        (["--likes", "--deployment", "rag", "--metric", "none"], "rag has no scores of 'none'"),
        (["labels.csv", "--deployment", "rag"], "none of the 1 labels is of an answer of rag that was scored"),
        (["labels.csv"], "no column 'score'"),
        (["labels.txt"], "must end in .parquet, .csv, .jsonl"),
        (["whole.csv", "--compare", "other"], "no column 'other' to compare with"),
        (["nobody.csv"], "no answer has both a score and a label"),
    ],
)
def test_what_cannot_be_calibrated_is_an_error(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    """The error says what is wrong, and the command line shows it without a trace."""
    monkeypatch.chdir(tmp_path)
    Path("labels.csv").write_text("response_id,label\nunknown,1\n")
    Path("labels.txt").write_text("")
    Path("whole.csv").write_text("score,label\n1,1\n")
    Path("nobody.csv").write_text("score,label\n1,\n")
    with pytest.raises(CalibrationError, match=message):
        CliRunner().invoke(app, ["judge", "calibrate", *arguments, "--lake", lake.root], catch_exceptions=False)


def test_a_threshold_is_the_reason_where_scores_order_the_answers(tmp_path: Path) -> None:
    """Agreement is never called poor beside a high AUROC without a word on the threshold."""
    rows = [(0.95, 1), (0.9, 1), (0.85, 1), (0.8, 0), (0.7, 0)] * 10
    pd.DataFrame(rows, columns=["score", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    done = " ".join(run(str(tmp_path / "labels.csv")).output.split())
    assert "poor (kappa 0.00) at the threshold 0.5, and the threshold is the reason" in done
    assert "(AUROC 1.00), and at 0.825 kappa is 1.00" in done
    binary = [(1, 1)] * 90 + [(1, 0)] * 4 + [(0, 0)] * 6 + [(0, 1)] * 30
    pd.DataFrame(binary, columns=["score", "label"]).to_csv(tmp_path / "labels.csv", index=False)
    assert "and the threshold is the reason" not in run(str(tmp_path / "labels.csv")).output


def test_labelled_answers_without_a_score_are_told(lake: Lake, tmp_path: Path) -> None:
    """Those of a file, and those of the deployment that the judge was not asked about or did not answer."""
    file = tmp_path / "labels.csv"
    pd.DataFrame({"score": [1, 0, None, None], "label": [1, 0, 0, 1]}).to_csv(file, index=False)
    done = run(str(file))
    assert "2 of 2 scored answers are labelled, and 2 labelled ones have no score" in " ".join(done.output.split())
    assert "people pass 1 of them" in " ".join(done.output.split())
    unscored = {"event_id": "e-unscored", "date": AT.date(), "requested_at": AT}
    lake.table(PARSED_LOGS, "rag").append(PARSED_LOGS.rows([unscored]))
    labels = [(f"e{number}", 1.0) for number in range(10)] + [("e-unscored", 0.0), ("e-of-another-deployment", 0.0)]
    pd.DataFrame(labels, columns=["event_id", "label"]).to_csv(file, index=False)
    given = [str(file), "--lake", lake.root, "--deployment", "rag"]
    assert "10 of 400 scored answers are labelled, and 1 labelled ones" in " ".join(run(*given).output.split())


@pytest.mark.slow
def test_labels_of_the_pages_become_a_threshold_of_the_configuration(lake: Lake, tmp_path: Path) -> None:
    """One command: the threshold is a combination that can be scored, and the file says nothing else than before."""
    config = tmp_path / "dialwatch.yaml"
    config.write_text(f"lake: {{root: {lake.root}}}  # here\nevaluator:\n  metrics: [context_present]\n")
    for number in range(60):
        row = {"signal_id": f"l{number}", "response_id": f"e{number}", "origin": "label", "confidence": 1.0}
        table = labelled(5, 400, 200)
        word = "right" if table["score"][number] == (number % 10 > 0) else "wrong"
        row |= {"signal": word, "value": 1.0 if word == "right" else -1.0, "date": AT.date(), "signaled_at": AT}
        lake.table(USER_SIGNALS, "rag").append(USER_SIGNALS.rows([row | {"user_id": "ann"}]))
    given = ["--labelled", "--deployment", "rag", "-c", str(config)]
    done = run(*given, "--write", "faithful_enough")
    assert done.exit_code == 0, done.output
    made = load_settings(config).evaluator.combinations["faithful_enough"]
    assert (dict(made.weights), made.threshold) == ({"faithfulness_claims": 1}, 0.5)
    assert config.read_text().startswith(f"lake: {{root: {lake.root}}}  # here\nevaluator:\n  combinations: ")
    assert re.search(r"threshold +0\.500", done.output)
    assert "faithfulness_claims, version 2" in done.output
    assert "--write needs --config" in run("--labelled", "--deployment", "rag", "--write", "x").output
    for name in ("Not a name", "refusal"):
        with pytest.raises(CalibrationError, match="cannot name a combination"):
            CliRunner().invoke(app, ["judge", "calibrate", *given, "--write", name], catch_exceptions=False)


def test_labels_or_likes_but_not_both(tmp_path: Path) -> None:
    """Without either, with both, and with likes of no deployment, the command says what to give."""
    assert "give a file of labels, --labelled or --likes" in run().output
    assert "give a file of labels, --labelled or --likes" in run("--likes", "--labelled").output
    assert "--likes need --deployment" in run("--likes").output
    assert "--labelled and --likes" in run("--labelled").output


def test_a_judge_is_asked_about_labelled_rows(tmp_path: Path) -> None:
    """`--ask 2` scores the rows, says how often the judge agrees with itself and in another order, and what it took."""

    async def act(request: Request, send: Send) -> None:
        text = str(request.body["messages"][1]["content"])
        supported = "true" in text and not text.index("second") < text.index("first")
        await judging(answered([[([1], "S" if supported else "C")]]))(request, send)

    rows = [
        {"question": f"{i}?", "contexts": ["first", "second", "third"], "label": float(i % 3 > 0)}
        | {"answer": f"It is {i} and {'true' if i % 3 else 'wrong'}."}
        for i in range(12)
    ]
    pd.DataFrame(rows).to_json(tmp_path / "labels.jsonl", orient="records", lines=True)
    with serving() as stage:
        server = stage.fresh()
        server.always = act
        judge = f"{{base_url: '{server.url}/v1', model: m, prompt_price: 1, completion_price: 10}}"
        (tmp_path / "dialwatch.yaml").write_text(
            f"evaluator:\n  judges: {{strict: {judge}}}\n  judge_calls: {tmp_path}/calls\n"
        )
        done = run(str(tmp_path / "labels.jsonl"), "--ask", "2", "-c", str(tmp_path / "dialwatch.yaml"))
        assert done.exit_code == 0, done.output
        assert len(server.requests) == 36
    found = {words[0]: words[1] for words in map(str.split, done.output.splitlines()) if len(words) > 1}
    assert (found["accuracy"], found["repeatability"], found["order"]) == ("1.000", "1.000", "0.333")
    assert "36 calls of the judge for 0.00" in done.output
    assert re.search(r"judge +strict +faithfulness_claims, version 1-m-", done.output)
    assert "36 calls; 12 answers, 3 times" in done.output


def test_joint_and_single_calls_are_compared_on_labels(tmp_path: Path) -> None:
    """`--compare` asks claim by claim where the file has no such column, and says whether that is as good."""
    rows = [
        {"question": f"{i}?", "contexts": ["first"], "answer": f"It is {i}.", "label": float(i % 2)} for i in range(8)
    ]
    pd.DataFrame(rows).to_json(tmp_path / "labels.jsonl", orient="records", lines=True)

    async def act(request: Request, send: Send) -> None:
        schema = properties(request)
        (number,) = set(re.findall(r"It is (\d)\.", prompt(request)))
        verdict = "S" if int(number) % 2 else "C"
        if "useful" in schema:
            reply = answered([[([1], verdict)]])
        elif "verdict" in schema:
            reply = json.dumps({"chunks": [1], "verdict": verdict})
        else:
            reply = json.dumps({"sentences": [{"sentence": 1, "facts": [f"It is {number}."]}]})
        await says(reply)(request, send)

    with serving() as stage:
        server = stage.fresh()
        server.always = act
        judge = f"{{base_url: '{server.url}/v1', model: m, prompt_price: 1, completion_price: 10}}"
        (tmp_path / "c.yaml").write_text(
            f"evaluator:\n  judges: {{strict: {judge}}}\n  judge_calls: {tmp_path}/calls\n"
        )
        given = [str(tmp_path / "labels.jsonl"), "--ask", "1", "-c", str(tmp_path / "c.yaml")]
        done = run(*given, "--compare", "faithfulness_claims_apart")
        assert done.exit_code == 0, done.output
        assert len(server.requests) == 8 + 2 * 8
    assert "faithfulness_claims_apart instead" in done.output
    assert any(line.split()[:3] == ["as", "good", "yes"] for line in done.output.splitlines()), done.output
    assert "24 calls of the judge" in done.output


def test_a_judge_that_gives_no_answer_is_an_error(tmp_path: Path) -> None:
    """Where it answers about no row, the error has the reasons; a combination's judge is asked too."""
    (tmp_path / "labels.jsonl").write_text('{"question": "q", "contexts": ["c"], "answer": "It is.", "label": 1}\n')
    with serving() as stage:
        server = stage.fresh()
        server.always = fails(401)
        judge = f"{{base_url: '{server.url}/v1', model: m, prompt_price: 1, completion_price: 10}}"
        (tmp_path / "dialwatch.yaml").write_text(
            f"evaluator:\n  judges: {{strict: {judge}}}\n  judge_calls: {tmp_path}/calls\n"
            "  combinations: {quality: {faithfulness_claims: 1, context_present: 1}}\n"
        )
        for metric in ("faithfulness_claims", "quality"):
            given = [str(tmp_path / "labels.jsonl"), "--ask", "1", "-c", str(tmp_path / "dialwatch.yaml")]
            with pytest.raises(CalibrationError, match="no row got a score: 1 judge_unavailable"):
                CliRunner().invoke(app, ["judge", "calibrate", *given, "--metric", metric], catch_exceptions=False)
        assert len(server.requests) > 1


def test_a_metric_without_a_judge_cannot_be_asked(tmp_path: Path) -> None:
    """The message says so, and what is missing where no judge is configured."""
    (tmp_path / "labels.csv").write_text("label,question,answer\n1,q,a\n")
    for metric, message in (("answer_length", "asks no judge"), ("faithfulness_claims", "configure one under")):
        with pytest.raises(CalibrationError, match=message):
            CliRunner().invoke(
                app,
                ["judge", "calibrate", str(tmp_path / "labels.csv"), "--ask", "1", "--metric", metric],
                catch_exceptions=False,
            )
    assert "leave out --deployment" in run("x.csv", "--ask", "1", "--deployment", "d").output
