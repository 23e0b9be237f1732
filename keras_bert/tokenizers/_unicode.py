"""Code point classes of the normalisation, as RE2 character classes.

The original tokenizer takes its character tables from Python. Here they are
those of Unicode 14 (Python 3.11), on every Python version, so that the ids
of a text never change with the interpreter. The operations of TensorFlow
know other versions of Unicode; the code points on which they disagree with
version 14 are listed here, and `tests/tokenizers/test_code_points.py`
compares every code point there is.
"""

# Deleted before anything else: U+0000, U+FFFD, categories Cc and Cf, without
# tab, line feed and carriage return, which count as whitespace.
DROPPED = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\x{FFFD}\p{Cf}]"

# Unassigned in Unicode 14, but mark, format character, punctuation or
# decomposable for a newer table. The original leaves them alone.
NEWER = (
    r"\x{ECE}\x{1B4E}\x{1B4F}\x{1B7F}\x{105C9}\x{105E4}\x{10D6E}"
    r"\x{10EFD}-\x{10EFF}\x{11241}\x{11383}\x{11385}\x{1138E}\x{11391}"
    r"\x{113C5}\x{113C7}\x{113C8}\x{113D4}\x{113D5}\x{113D7}\x{113D8}"
    r"\x{11B00}-\x{11B09}\x{11BE1}\x{11F00}\x{11F01}\x{11F36}-\x{11F3A}"
    r"\x{11F40}\x{11F42}-\x{11F4F}\x{13439}-\x{13440}\x{13447}-\x{13455}"
    r"\x{16121}-\x{16128}\x{16D68}-\x{16D6A}\x{16D6D}-\x{16D6F}\x{1E08F}"
    r"\x{1E4EC}-\x{1E4EF}\x{1E5FF}"
)

# Capital letters new in Unicode 14, whose lower case TensorFlow does not
# know: (first, last, distance to the small letter).
NEW_CAPITALS = (
    (0x2C2F, 0x2C2F, 0x30),
    (0xA7C0, 0xA7C0, 1),
    (0xA7D0, 0xA7D0, 1),
    (0xA7D6, 0xA7D6, 1),
    (0xA7D8, 0xA7D8, 1),
    (0x10570, 0x1057A, 0x27),
    (0x1057C, 0x1058A, 0x27),
    (0x1058C, 0x10592, 0x27),
    (0x10594, 0x10595, 0x27),
)

# New in Unicode 14 as letters with case, and as what the rule for the final
# sigma looks through.
NEW_CASED = (
    r"\x{2C2F}\x{2C5F}\x{A7C0}\x{A7C1}\x{A7D0}\x{A7D1}\x{A7D3}"
    r"\x{A7D5}-\x{A7D9}\x{10570}-\x{1057A}\x{1057C}-\x{1058A}"
    r"\x{1058C}-\x{10592}\x{10594}\x{10595}\x{10597}-\x{105A1}"
    r"\x{105A3}-\x{105B1}\x{105B3}-\x{105B9}\x{105BB}\x{105BC}"
    r"\x{1DF00}-\x{1DF09}\x{1DF0B}-\x{1DF1E}"
)
NEW_IGNORABLE = (
    r"\x{888}\x{890}\x{891}\x{898}-\x{89F}\x{8C9}-\x{8D2}\x{C3C}"
    r"\x{1734}\x{180F}\x{1AC1}-\x{1ACE}\x{1DFA}\x{A7F2}-\x{A7F4}"
    r"\x{FBC2}\x{10780}-\x{10785}\x{10787}-\x{107B0}"
    r"\x{107B2}-\x{107BA}\x{10F82}-\x{10F85}\x{11070}\x{11073}"
    r"\x{11074}\x{110C2}\x{1AFF0}-\x{1AFF3}\x{1AFF5}-\x{1AFFB}"
    r"\x{1AFFD}\x{1AFFE}\x{1CF00}-\x{1CF2D}\x{1CF30}-\x{1CF46}\x{1E2AE}"
)

# Rows of these code points alone need no more than ASCII lower-casing: none
# of them is deleted, decomposes or has a lower case beyond ASCII's. Any
# subset of such code points is right; these cover English and Chinese text
# with its quotation marks, dashes and full-width signs.
SIMPLE_LOWER = (
    r"[\t\n\r\x20-\x7e\x{A1}-\x{A7}\x{A9}-\x{AC}\x{AE}\x{B0}-\x{B3}"
    r"\x{B5}-\x{B7}\x{B9}-\x{BF}\x{D7}\x{DF}\x{2010}-\x{2027}"
    r"\x{2030}-\x{205E}\x{3000}-\x{3029}\x{4E00}-\x{9FFF}"
    r"\x{FF01}-\x{FF20}\x{FF3B}-\x{FF40}\x{FF5B}-\x{FF65}]*"
)

# Without lower-casing and accent stripping a row is left as it is unless it
# holds one of these (surrogates stand for invalid UTF-8).
SIMPLE_CASED = (
    r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\x{FFFD}\p{Cf}"
    r"\x{D800}-\x{DFFF}" + NEWER + r"]*"
)

ASCII = r"[\t\n\r\x20-\x7e]*"
VALID_UTF8 = r"[\x00-\x{D7FF}\x{E000}-\x{10FFFF}]*"

# 201 code points of which none surely ends a word. It may flag a row without
# a long word (rare punctuation is missing here), never miss one. Each class
# is repeated as it stands, because a counted repetition over a Unicode
# property would exceed RE2's memory.
LONG_WORD = (
    r"(?s).*[^\t\n\r\x20-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\x{2010}-\x{2027}"
    r"\x{3000}-\x{3003}\x{3008}-\x{3011}\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}"
    r"\x{FF01}-\x{FF03}\x{FF05}-\x{FF0A}\x{FF0C}-\x{FF0F}\x{FF1A}\x{FF1B}"
    r"\x{FF1F}]{201}.*"
)


def any_of(code_point_class):
    """A pattern for rows that hold a code point of the class."""
    return rf"(?s).*{code_point_class}.*"
