"""SWAG's csv and other tables of contexts with endings."""

import pytest

from keras_bert.tasks import swag


def test_the_published_layout(shared):
    rows = swag.read(shared / "swag" / "sample.csv")
    contexts, endings = rows["x"]
    # The first row of the file: sent1, and sent2 + " " + ending0.
    assert contexts[0] == "Students lower their eyes nervously."
    assert endings[0][0] == (
        "She pats her shoulder, then saunters toward someone."
    )
    assert len(rows["ids"]) == 11 and {len(one) for one in endings} == {4}
    assert rows["y"][0] == 2


def test_any_number_of_endings_and_no_label(tmp_path):
    path = tmp_path / "test.csv"
    path.write_text('context,ending0,ending1\n"a, b",c,\nd,e,f\n')
    rows = swag.read(path)
    assert rows["x"] == (["a, b", "d"], [["c", ""], ["e", "f"]])
    assert rows["y"] is None
    header = ",".join(f"ending{i}" for i in range(11))
    path.write_text(f"sent1,{header},label\nx,{','.join('abcdefghijk')},10\n")
    rows = swag.read(path)
    # By number: ending10 comes after ending9.
    assert rows["x"][1] == [list("abcdefghijk")] and rows["y"] == [10]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sent1,ending0,ending1,label\na,b,c,2\n", "`label`.*0 to 1, in row 0"),
        ("sent1,ending0,ending1,label\na,b,c,\n", "`label`.*row 0"),
        ("sent1,ending0\na,b\n", "ending0, ending1"),
        ("text,ending0,ending1\na,b,c\n", "sent1 or context"),
        ("sent1,ending0,ending1\na,b\n", "3 columns in line 2"),
        ("sent1,ending0,ending1\n", "at least one row"),
    ],
)
def test_bad_tables_name_file_and_row(tmp_path, content, message):
    path = tmp_path / "train.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        swag.read(path)


def test_a_folder_has_train_and_val(tmp_path):
    (tmp_path / "val.csv").write_text("sent1,ending0,ending1,label\na,b,c,1\n")
    assert swag.TASK.read(tmp_path, "dev")["y"] == [1]
    with pytest.raises(ValueError, match="train.csv"):
        swag.TASK.read(tmp_path, "train")
    (tmp_path / "val.csv").write_text("sent1,ending0,ending1\na,b,c\n")
    with pytest.raises(ValueError, match="column label"):
        swag.TASK.read(tmp_path, "dev")
