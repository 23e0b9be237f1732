import bz2
import gzip
import json

import pytest

from keras_bert.data import read_documents
from keras_bert.data.documents import TextBlock
from keras_bert.data.documents import read_block
from keras_bert.data.text_formats import is_passage


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return str(path)


def test_a_line_is_a_sentence_and_a_blank_line_ends_a_document(tmp_path):
    path = write(tmp_path / "a.txt", "\n\none a.\n two b. \n\n \n\nthree c.")
    assert list(read_documents(path)) == [["one a.", "two b."], ["three c."]]


def test_a_file_boundary_is_a_document_boundary(tmp_path):
    write(tmp_path / "b.txt", "third.\n")
    write(tmp_path / "a.txt", "first.\nsecond.")
    documents = list(read_documents(str(tmp_path / "*.txt")))
    assert documents == [["first.", "second."], ["third."]]


def test_the_originals_sample_has_3_documents_and_31_sentences(shared):
    # Counts: data/pretraining/segment_pair_statistics.json.
    path = shared / "text_en" / "sample_text.txt"
    documents = list(read_documents(path))
    assert [len(documents), sum(map(len, documents))] == [3, 31]
    assert documents[0][0].endswith("力加勝北区ᴵᴺᵀᵃছজটডণত")


def test_wikitext_titles_are_borders_and_headings_are_dropped(tmp_path):
    path = write(
        tmp_path / "a.txt",
        " \n = One = \n \n First . Second . \n \n = = Part = = \n \n Third . \n"
        " \n = Two = \n \n Fourth . \n",
    )
    assert list(read_documents(path)) == [
        ["First .", "Second .", "Third ."],
        ["Fourth ."],
    ]


def test_wikitext_valid_has_60_articles(shared):
    # 60: the number of articles in segment_pair_statistics.json.
    path = shared / "text_en" / "wikitext-2" / "valid.txt"
    assert sum(1 for _ in read_documents(path)) == 60


def test_lines_of_several_sentences_are_split(tmp_path):
    path = write(tmp_path / "a.txt", "One a. Two b.\nThree c. Four d.\n\nFive.")
    assert list(read_documents(path)) == [
        ["One a.", "Two b.", "Three c.", "Four d."],
        ["Five."],
    ]
    assert list(read_documents(path, "lines"))[1] == ["Five."]


def test_chinese_prose_is_split_without_spaces(tmp_path):
    path = write(tmp_path / "a.txt", "第一句。第二句。\n\n第三句！第四句。")
    assert list(read_documents(path)) == [
        ["第一句。", "第二句。"],
        ["第三句！", "第四句。"],
    ]


def test_wrapped_lines_are_joined_before_they_are_split(shared):
    # A Gutenberg book: CRLF, BOM, lines of about 70 characters.
    path = shared / "text_en" / "alice-11-0.txt"
    sentences = [s for document in read_documents(path) for s in document]
    assert (
        "There was nothing so VERY remarkable in that; nor did Alice think "
        "it so VERY much out of the way to hear the Rabbit say to itself, "
        "‘Oh dear!"
    ) in sentences
    assert not any("\r" in s or "\ufeff" in s for s in sentences)


def test_a_chapter_of_wrapped_prose_is_a_document(tmp_path):
    line = "words go on. They go on and on until the margin\n"
    text = line * 6 + "the end.\n\n" + line * 6 + "\n\n\n" + line * 6
    documents = list(read_documents(write(tmp_path / "a.txt", text)))
    assert [len(document) for document in documents] == [14, 7]


def test_short_unpunctuated_lines_are_not_taken_for_wrapped_prose(tmp_path):
    lines = [
        "the fox", "a very long line of words without any mark", "quick",
        "fox and hen and fox", "the", "one more line that is rather long",
    ]  # fmt: skip
    path = write(tmp_path / "a.txt", "\n".join(lines))
    assert list(read_documents(path)) == [lines]


def test_wide_lines_without_punctuation_stay_lines(tmp_path):
    lines = ["a sentence of words of one length that has no mark"] * 12
    path = write(tmp_path / "a.txt", "\n".join(lines))
    assert list(read_documents(path)) == [lines]


@pytest.mark.parametrize("packer", [gzip, bz2])
def test_packed_files_are_unpacked(tmp_path, packer):
    path = tmp_path / f"a.{'gz' if packer is gzip else 'bz2'}"
    path.write_bytes(packer.compress(b"one a.\ntwo b.\n\nthree c."))
    assert list(read_documents(path)) == [["one a.", "two b."], ["three c."]]


def test_lines_end_at_newline_only(tmp_path):
    path = write(tmp_path / "a.txt", "one\u2028still one.\x0bstill\r\ntwo.")
    assert list(read_documents(path)) == [
        ["one\u2028still one.\x0bstill", "two."]
    ]


@pytest.mark.parametrize(
    "content, said",
    [
        (b"text\0text\n", "line 1 has NUL bytes"),
        (b"good\nbad \xff\xe9 line\n", "line 2 has the byte 0xff"),
        ("Müller".encode("latin-1"), "0xfc"),
        ("text".encode("utf-16"), "UTF-16"),
    ],
)
def test_what_is_not_utf8_text_is_refused_with_path_and_line(
    tmp_path, content, said
):
    path = tmp_path / "bad.bin"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="argument `files`") as error:
        list(read_documents(path))
    assert said in str(error.value)
    assert "bad.bin" in str(error.value)


@pytest.mark.parametrize("name", ["missing.txt", "*.missing", "empty"])
def test_missing_files_and_empty_folders_are_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="argument `files`.*tmp|missing"):
        read_documents(str(tmp_path / name))


@pytest.mark.parametrize("files", [[], [3], [None]])
def test_files_must_be_paths(files):
    with pytest.raises(ValueError, match="argument `files`"):
        read_documents(files)


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="argument `file_format`.*'lines'"):
        read_documents("a.txt", file_format="html")


def test_files_of_any_filesystem_and_of_folders(tmp_path):
    import tensorflow as tf

    # ram:// is a file system of TensorFlow, as gs:// and s3:// are.
    with tf.io.gfile.GFile("ram://texts/a.txt", "w") as file:
        file.write("one a.\ntwo b.\n\nthree c.")
    wanted = [["one a.", "two b."], ["three c."]]
    for files in ("ram://texts/a.txt", "ram://texts/*.txt", "ram://texts"):
        assert list(read_documents(files)) == wanted
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "a.txt", "one a.\ntwo b.\n\nthree c.")
    write(tmp_path / "deep" / "_SUCCESS", "a marker, no text")
    assert list(read_documents(tmp_path)) == wanted


def test_zstd_is_unpacked_and_a_torn_file_is_named(tmp_path):
    import zstandard

    path = tmp_path / "a.zst"
    text = b"one a.\ntwo b.\n\nthree c."
    # Two frames, as `cat a.zst b.zst` makes them.
    pack = zstandard.ZstdCompressor().compress
    packed = pack(text[:10]) + pack(text[10:])
    path.write_bytes(packed)
    assert list(read_documents(path)) == [["one a.", "two b."], ["three c."]]
    for broken in (packed[:-3], b"no zstd", packed + b"more"):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="`files`.*whole packed.*a.zst"):
            list(read_documents(path))
    path.write_bytes(b"")
    assert list(read_documents(path)) == []
    torn = tmp_path / "b.gz"
    whole = gzip.compress(text * 1000)
    for broken in (whole[:-20], b"no gzip", whole[:12] + whole[60:]):
        torn.write_bytes(broken)
        with pytest.raises(ValueError, match="`files`.*whole packed.*b.gz"):
            list(read_documents(torn))


def test_a_json_line_is_a_document_of_passages(tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        '{"text": "One a. Two b.\\nThree c.", "id": 1}\n\n'
        '{"text": "Four d."}\n',
    )
    wanted = [["One a.", "Two b.", "Three c."], ["Four d."]]
    assert list(read_documents(path)) == wanted
    other = write(tmp_path / "b.jsonl", '{"body": "One a."}\n')
    assert list(read_documents(other, text_field="body")) == [["One a."]]
    with pytest.raises(ValueError, match=r"`text_field`.*\['body'\]"):
        list(read_documents(other))
    broken = write(tmp_path / "c.jsonl", '{"text": "One a."}\nno json\n')
    with pytest.raises(ValueError, match="`files`.*line 2"):
        list(read_documents(broken))


WIKI = [
    "Anarchism",
    "",
    "Anarchism is a political philosophy and movement. It is old.",
    "Early life.",
    "History",
    "* a list item that ends like a sentence does.",
    "| a | row | of a table that ends so too.",
    "BULLET::::- another list item of the older tool.",
    '{| class="wikitable" that was left over and ends so.',
    "数学是研究数量、结构以及空间等概念的学科。它很古老。",
]
PASSAGES = [
    "Anarchism is a political philosophy and movement.",
    "It is old.",
    "数学是研究数量、结构以及空间等概念的学科。",
    "它很古老。",
]


@pytest.mark.parametrize(
    "passage",
    [
        "یہ اردو زبان کا ایک جملہ ہے۔",
        "Սա հայերեն լեզվի մեկ նախադասություն է։",
        "Սա հայերեն լեզվի մեկ նախադասություն է:",
        "यह हिन्दी भाषा का एक वाक्य है।",
        "ይህ በአማርኛ ቋንቋ አንድ ዓረፍተ ነገር ነው።",
        "ဤသည်မှာမြန်မာဘာသာစကားဖြင့်ရေးသားထားသောဝါကျတစ်ကြောင်းဖြစ်သည်။",
        "นี่คือย่อหน้าหนึ่งในภาษาไทยซึ่งไม่มีเครื่องหมายจบประโยค และมีความยาวมากพอ",
        "Ποιος είναι αυτός ο άνθρωπος;",
    ],
)
def test_text_of_every_script_is_a_passage(passage):
    assert is_passage(passage)
    # A heading of the same script: its first words, without a mark.
    assert not is_passage(passage[:12])


def test_wikiextractor_gives_text_passages_only(tmp_path):
    # The paper, section 3.1: "we extract only the text passages and ignore
    # lists, tables, and headers".
    head = '<doc id="12" url="https://en.wikipedia.org" title="Anarchism">'
    text = "\n".join([head, *WIKI, "</doc>", ""])
    path = write(tmp_path / "wiki_00", text * 2)
    assert list(read_documents(path)) == [PASSAGES] * 2
    record = {"id": "12", "url": "u", "title": "Anarchism"}
    record["text"] = "\n".join(WIKI)
    path = write(tmp_path / "wiki_01", json.dumps(record) + "\n")
    assert list(read_documents(path)) == [PASSAGES]
    assert list(read_documents(path, "jsonl")) != [PASSAGES]


@pytest.mark.parametrize(
    "kind", ["lines", "wikitext", "prose", "jsonl", "wiki"]
)
def test_blocks_give_every_document_once_wherever_they_are_cut(tmp_path, kind):
    documents = [
        [f"Sentence {i} of document {d} é中." for i in range(1 + d % 4)]
        for d in range(9)
    ]
    if kind == "lines":
        parts = ["\n".join(document) + "\n\n" for document in documents]
    elif kind == "prose":
        parts = ["\n".join(document) + "\n\n \n" for document in documents]
    elif kind == "wikitext":
        parts = [
            f" = Title {d} = \n \n" + "\n".join(document) + "\n"
            for d, document in enumerate(documents)
        ]
    elif kind == "jsonl":
        parts = [
            json.dumps({"text": "\n".join(document)}, ensure_ascii=False) + "\n"
            for document in documents
        ]
    else:
        parts = [
            f'<doc id="{d}">\nTitle\n' + "\n".join(document) + "\n</doc>\n"
            for d, document in enumerate(documents)
        ]
    path = write(tmp_path / "a.txt", "".join(parts))
    size = len("".join(parts).encode())
    wanted = list(read_documents(path, kind))
    assert wanted == documents
    for cut in range(1, size):
        blocks = [TextBlock(path, 0, cut), TextBlock(path, cut, None)]
        found = [d for b in blocks for d in read_block(b, kind)]
        assert found == wanted, cut


def test_a_document_without_end_is_cut_and_nothing_is_lost(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("keras_bert.data.text_formats.MAX_SENTENCES", 2500)
    path = write(tmp_path / "a.txt", "w0 .\n" * 6000)
    documents = list(read_documents(path, "lines"))
    assert [len(document) for document in documents] == [3000, 3000]


def test_a_line_longer_than_the_bound_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.data.text_files.MAX_LINE_BYTES", 1000)
    path = write(tmp_path / "a.txt", "short\n" + "x" * 2000)
    with pytest.raises(ValueError, match="`files`.*line 2 is longer"):
        list(read_documents(path))


def test_a_sentence_longer_than_the_bound_is_cut_at_spaces(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("keras_bert.data.text_formats.MAX_SENTENCE", 10)
    path = write(tmp_path / "a.txt", "one two three four\n" + "x" * 25 + "\n")
    assert list(read_documents(path, "lines")) == [
        ["one two", "three four", "x" * 10, "x" * 10, "x" * 5]
    ]


def test_a_file_that_was_written_anew_is_looked_at_anew(tmp_path):
    path = write(tmp_path / "a.txt", '{"text": "One a."}\n')
    assert list(read_documents(path)) == [["One a."]]
    path = write(tmp_path / "a.txt", "One a line.\n")
    assert list(read_documents(path)) == [["One a line."]]


def test_messages_say_from_where_lines_are_counted(tmp_path):
    lines = [json.dumps({"text": f"Sentence {i}."}) + "\n" for i in range(9)]
    path = write(tmp_path / "a.jsonl", "".join(lines) + "no json\n")
    block = TextBlock(path, len(lines[0]) * 7, None)
    with pytest.raises(ValueError, match=r"`files`.*line 3 after byte 168 "):
        list(read_block(block))
