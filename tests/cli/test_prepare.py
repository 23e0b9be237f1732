"""`keras-bert prepare`: every option changes what is written."""

import gzip
import json

import pytest

from keras_bert.cli.main import main
from keras_bert.data import ShardFolder


@pytest.fixture(scope="module")
def texts(folder, tmp_path_factory):
    """The corpus of the other verbs, cut in two folders."""
    texts = tmp_path_factory.mktemp("texts")
    text = (folder / "corpus.txt").read_text()
    for name, part in (("en", text), ("is", "the fox .\na dog .\n\nit .\n")):
        (texts / name).mkdir()
        (texts / name / "a.txt").write_text(part)
    (texts / "packed.txt.gz").write_bytes(gzip.compress(text.encode()))
    lines = [
        json.dumps({"text": part, "body": "the dog ."})
        for part in text.split("\n\n")
    ]
    (texts / "a.jsonl").write_text("\n".join(lines))
    return texts


def read(out):
    """All files, without the settings that merely repeat the options."""
    index = json.loads((out / "index.json").read_text())
    del index["settings"]
    data = {
        path.name: path.read_bytes()
        for path in out.iterdir()
        if path.name not in ("index.json", "preparation.json")
    }
    return index, data


@pytest.fixture(scope="module")
def prepared(folder, texts, tmp_path_factory):
    """Runs the verb; gives exit code and folder."""

    def run(*options, files=("en", "is")):
        out = tmp_path_factory.mktemp("prepared") / "out"
        words = ["prepare", *(texts / name for name in files), "-o", out]
        words += ["--vocab", folder / "vocab.txt", *options]
        return main([*map(str, words)]), out

    return run


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], ("packed.txt.gz",)),
        (["--seed", "2"], None),
        (["--shard-size", "0.0004"], None),
        (["--sampling", "0.5"], None),
        (["--file-format", "wikitext"], None),
        (["--text-field", "body"], ("a.jsonl",)),
        (["--words", "spaces"], None),
        (["--words", "jieba"], None),
        (["--max-length", "3"], None),
        (["--cased"], None),
        (["--format", "google"], None),
    ],
)
def test_every_option_changes_the_shards(prepared, options, files):
    files = files or ("en", "is")
    plain = ("a.jsonl",) if files == ("a.jsonl",) else ("en", "is")
    code, base = prepared(files=plain)
    assert code == 0
    code, changed = prepared(*options, files=files)
    assert code == 0
    assert read(base) != read(changed)


@pytest.mark.parametrize(
    "options",
    [
        ["--max-length", "64"],
        ["--max-predictions", "3"],
        ["--duplicates", "2"],
        ["--masking", "spans"],
        ["--mask-rate", "0.4"],
        ["--short-seq-prob", "0.9"],
    ],
)
def test_every_option_changes_the_google_records(prepared, options):
    given = {"--max-length": "32", "--duplicates": "1"}
    google = ["--format", "google"]
    plain = [word for item in given.items() for word in item]
    _, base = prepared(*google, *plain)
    given |= dict([options])
    changed = [word for item in given.items() for word in item]
    code, other = prepared(*google, *changed)
    assert code == 0
    assert read(base) != read(other)


def test_case_changes_the_shards_themselves(folder, tmp_path):
    (tmp_path / "a.txt").write_text("The fox .\nA dog .\n\nIt was .\nOver .\n")
    shards = []
    for options in ([], ["--cased"]):
        out = tmp_path / f"{options}"
        words = ["prepare", tmp_path / "a.txt", "-o", out, *options]
        words += ["--vocab", folder / "vocab.txt"]
        assert main([*map(str, words)]) == 0
        shards.append((out / "shard-00000-000.tfrecord").read_bytes())
    assert shards[0] != shards[1]


def test_one_document_is_noted(folder, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("a fox .\na dog .\n")
    words = ["prepare", tmp_path / "a.txt", "-o", tmp_path / "o"]
    words += ["--vocab", folder / "vocab.txt"]
    assert main([*map(str, words)]) == 0
    assert "all text is one document" in capsys.readouterr().err


def test_the_result_says_what_was_written(folder, texts, tmp_path, run_json):
    words = ["prepare", texts / "en", "-o", tmp_path / "o"]
    words += ["--vocab", folder / "vocab.txt", "--shard-size", "0.0004"]
    code, part = run_json(*words, "--shard", "1/2")
    assert code == 0
    assert part["complete"] is False
    code, result = run_json(*words, "--shard", "0/2", "--workers", "1")
    assert code == 0
    assert result["complete"] is True
    # conftest.py: twelve documents of four sentences.
    assert result["documents"] == 12
    assert result["sentences"] == 48
    assert result["shards"] == len(ShardFolder(tmp_path / "o")) > 1
    assert result["tokens"] == ShardFolder(tmp_path / "o").index["tokens"]


def test_documents_of_one_sentence_are_noted(folder, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("a fox .\n\na dog .\n\nthe film .\n")
    words = ["prepare", tmp_path / "a.txt", "-o", tmp_path / "o"]
    words += ["--vocab", folder / "vocab.txt"]
    assert main([*map(str, words)]) == 0
    assert "every next sentence would be a random one" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--shard", "3/2"], "`shard`"),
        (["--shard-size", "0"], "`--shard-size`"),
        (["--sampling", "-1"], "`sampling`"),
        (["--seed", "-1"], "`seed`"),
        (["--file-format", "html"], "`file_format`"),
        (["--vocab", "none.txt"], "`--vocab`"),
        (["--format", "google", "--mask-rate", "2"], "`mask_rate`"),
        (["--format", "google", "--mask-rate", "nan"], "`mask_rate`"),
        (["--format", "google", "--sampling", "0.7"], "`sampling`"),
        (["--masking", "spans"], "`--masking`"),
        (["--mask-rate", "0.2"], "`--mask-rate`"),
        (["--max-predictions", "3"], "`--max-predictions`"),
        (["--duplicates", "2"], "`--duplicates`"),
        (["--short-seq-prob", "0.5"], "`--short-seq-prob`"),
    ],
)
def test_bad_input_is_one_line_that_names_it(prepared, capsys, options, said):
    code, out = prepared(*options)
    assert code == 2
    (line,) = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("keras-bert prepare: error:")
    ]
    assert said in line
    assert not list(out.glob("*.tfrecord"))


def test_an_unknown_part_is_refused(prepared, capsys):
    with pytest.raises(SystemExit) as end:
        prepared("--shard", "half")
    assert end.value.code == 2
    assert "I/N" in capsys.readouterr().err


def test_beam_is_named_where_it_is_missing(prepared, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "apache_beam", None)
    code, _ = prepared("--runner", "DirectRunner", "--runner-option", "a=1")
    assert code == 1
    assert "extra `beam`" in capsys.readouterr().err
