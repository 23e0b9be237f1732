"""`keras-bert export` and `keras-bert attention` on a small run."""

import json
import re

import onnx
import pytest

from keras_bert.cli.main import main


@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_the_format_decides_what_is_written(folder, tmp_path, run_json, format):
    path = tmp_path / "model"
    code, result = run_json("export", folder / "run", path, "--format", format)
    assert code == 0
    assert result == {"path": str(path), "format": format}
    if format == "onnx":
        names = {one.name for one in onnx.load(path).graph.input}
        assert {"token_ids", "mask_positions"} <= names
    else:
        # The identifier of the file format.
        assert path.read_bytes()[4:8] == b"TFL3"
    # What is there is not written over.
    assert main(["export", str(folder / "run"), str(path)]) == 2


def read(path):
    (data,) = re.findall(r"const DATA = (.*);", path.read_text("utf-8"))
    return json.loads(data)


def test_attention_of_a_text_and_of_a_pair(folder, tmp_path, run_json, capsys):
    words = ["attention", folder / "run", "the fox </script> [MASK]"]
    code, result = run_json(*words, "-o", tmp_path / "one.html")
    assert code == 0
    one = read(tmp_path / "one.html")
    assert one["tokens"] == result["tokens"]
    assert one["tokens"][-2:] == ["[MASK]", "[SEP]"]
    assert one["tokens"].count("[SEP]") == 1
    # bert_tiny: 2 blocks of 2 heads.
    assert (result["layers"], result["heads"]) == (2, 2)
    length = len(one["tokens"])
    for layer in one["scores"]:
        for head in layer:
            assert len(head) == length
            # Thousandths of weights that sum to 1, each rounded.
            assert all(abs(sum(row) - 1000) <= length / 2 for row in head)
    # The text can end neither the script nor the title.
    page = (tmp_path / "one.html").read_text("utf-8")
    assert page.count("</script>") == 1

    code, result = run_json(
        *words, "--text-pair", "a dog", "-o", tmp_path / "two.html"
    )
    assert code == 0
    assert read(tmp_path / "two.html")["tokens"].count("[SEP]") == 2

    long = ["attention", str(folder / "run"), "fox " * 600]
    assert main([*long, "-o", str(tmp_path / "long.html")]) == 2
    assert "at most 512 tokens" in capsys.readouterr().err
    again = [*map(str, words), "-o", str(tmp_path / "one.html")]
    assert main(again) == 2
    assert not (tmp_path / "long.html").exists()
