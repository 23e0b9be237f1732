"""Where blocks of a file begin, from wherever it is looked for."""

import random

import pytest

from keras_bert.data import document_borders
from keras_bert.data.document_borders import next_border
from keras_bert.data.documents import TextBlock
from keras_bert.data.documents import read_block
from keras_bert.data.documents import read_documents

PARTS = ("\n", "\r\n", "  \n", " " * 70 + "\n", "a.\n", "c " * 40 + "\n", "e.")


@pytest.mark.parametrize("kind", ["lines", "prose"])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_known_changes_no_border(tmp_path, kind, seed):
    random.seed(seed)
    path = tmp_path / "a.txt"
    path.write_bytes("".join(random.choices(PARTS, k=80)).encode())
    places = list(range(path.stat().st_size + 1))
    alone = []
    for place in places:
        document_borders._KNOWN.clear()
        alone.append(next_border(str(path), place, kind))
    assert len(set(alone)) > 2
    for _ in range(3):
        document_borders._KNOWN.clear()
        random.shuffle(places)
        found = {place: next_border(str(path), place, kind) for place in places}
        assert [found[place] for place in sorted(places)] == alone


def test_a_file_without_borders_is_searched_once(tmp_path, monkeypatch):
    lines = 2000
    path = tmp_path / "a.txt"
    path.write_text("One sentence of a document without end.\n" * lines)
    asked = []

    def noted(*arguments):
        asked.append(arguments)
        return starts(*arguments)

    starts = document_borders.starts_document
    monkeypatch.setattr(document_borders, "starts_document", noted)
    size = path.stat().st_size
    borders = [size * i // 100 for i in range(100)]
    ends = [*borders[1:], None]
    blocks = [
        TextBlock(str(path), start, end)
        for start, end in zip(borders, ends, strict=True)
    ]
    random.Random(1).shuffle(blocks)
    found = [d for block in blocks for d in read_block(block, "lines")]
    assert found == list(read_documents(path, "lines"))
    # Each of the 100 blocks would look at half of the lines.
    assert len(asked) <= lines
