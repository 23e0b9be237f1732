import bz2
import gzip

import pytest

from keras_bert.data import read_documents


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
