import pytest

from keras_bert.data import split_sentences

# Expected splits are by hand.
EXAMPLES = [
    ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
    ("Mr. Smith met Dr. Who. He left.", ["Mr. Smith met Dr. Who.", "He left."]),
    ("See e.g. Fig. 3 of J. S. Bach.", ["See e.g. Fig. 3 of J. S. Bach."]),
    ("It cost 3.50 dollars. Yes.", ["It cost 3.50 dollars.", "Yes."]),
    (
        "'Why?' she said. “Go!” He went.",
        ["'Why?' she said.", "“Go!”", "He went."],
    ),
    (
        "She lives at No. 5. He said no. Then",
        ["She lives at No. 5.", "He said no.", "Then"],
    ),
    ("3. Method of work. It is new.", ["3. Method of work.", "It is new."]),
    (
        "Wait... then go. (Really.) Yes",
        ["Wait... then go.", "(Really.)", "Yes"],
    ),
    (
        "第一句。第二句！“第三句？”第四",
        ["第一句。", "第二句！", "“第三句？”", "第四"],
    ),
    ("no mark at all", ["no mark at all"]),
    ("यह एक है। यह दो है।", ["यह एक है।", "यह दो है।"]),
    ("یہ ہے۔ کیا ہے؟ ہاں۔", ["یہ ہے۔", "کیا ہے؟", "ہاں۔"]),
    ("Սա մեկ է։ Սա երկու է: Եվ", ["Սա մեկ է։", "Սա երկու է:", "Եվ"]),
    ("ပထမ ဝါကျ။ဒုတိယ ဝါကျ။", ["ပထမ ဝါကျ။", "ဒုတိယ ဝါကျ။"]),
    ("ይህ አንድ ነው። ይህ ሁለት ነው።", ["ይህ አንድ ነው።", "ይህ ሁለት ነው።"]),
    ("នេះមួយ។ នេះពីរ។", ["នេះមួយ។", "នេះពីរ។"]),
    ("འདི་གཅིག ། །  འདི་གཉིས །", ["འདི་གཅིག ། །", "འདི་གཉིས །"]),
    ("Πού είναι; Εδώ είναι.", ["Πού είναι;", "Εδώ είναι."]),
    ("Πού; εδώ. Note: This; That", ["Πού; εδώ.", "Note: This; That"]),
    (
        "ประโยคแรกยาวพอสมควรทีเดียว ประโยคที่สองก็ยาวเช่นกัน",
        ["ประโยคแรกยาวพอสมควรทีเดียว", "ประโยคที่สองก็ยาวเช่นกัน"],
    ),
    # Short phrases, the mark of repetition and figures end nothing.
    ("นาย สมชาย", ["นาย สมชาย"]),
    ("สิ่งของเครื่องใช้ต่าง ๆ ที่มี", ["สิ่งของเครื่องใช้ต่าง ๆ ที่มี"]),
    ("ก่อตั้งขึ้นในปีพุทธศักราช 2500", ["ก่อตั้งขึ้นในปีพุทธศักราช 2500"]),
    ("  \t ", []),
]


@pytest.mark.parametrize("text, expected", EXAMPLES)
def test_prose_is_split_at_sentence_ends(text, expected):
    assert split_sentences(text) == expected


def test_no_word_is_lost():
    text = " ".join(text for text, _ in EXAMPLES)
    joined = "".join(split_sentences(text))
    assert "".join(joined.split()) == "".join(text.split())
