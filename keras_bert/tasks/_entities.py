"""Entities in sequences of tags, whatever the scheme.

    words   Ann  Lee  meets Rome  Paris
    IOB1    I-P  I-P  O     I-L   B-L      B- only between neighbours of a type
    IOB2    B-P  I-P  O     B-L   B-L      B- at every first word
    BIOES   B-P  E-P  O     S-L   S-L      also E- at last, S- at single words
    plain   P    P    O     L     L        no prefix: neighbours of a type join

A bare B, I, E or S is a prefix of entities without a type. One rule reads all
schemes, that of conlleval: an entity begins at B and S, after E and S, after
O, and where the type changes. U and L (BILOU) are other names of S and E, and
M (BMES) of I. conlleval knows tags without prefix only with its option -r,
where every word is an entity of its own; here neighbours join.

Source: conlleval of https://www.clips.uantwerpen.be/conll2000/chunking/
"""

SCHEMES = ("iob1", "iob2", "bioes")
_SAME = {"U": "S", "L": "E", "M": "I"}


def split_tag(tag):
    """Prefix and type of a tag; ("O", "") outside of entities."""
    if tag == "O":
        return "O", ""
    prefix, hyphen, kind = tag.partition("-")
    if prefix in ("B", "I", "E", "S") or (hyphen and prefix in _SAME):
        return _SAME.get(prefix, prefix), kind
    return "I", tag


def entities(tags):
    """The entities of one sentence as (type, first word, word after)."""
    found, first = [], None
    before, kind = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        prefix, here = split_tag(tag)
        if first is not None and (
            prefix in "OBS" or before in "ES" or here != kind
        ):
            found.append((kind, first, place))
            first = None
        if prefix != "O" and first is None:
            first = place
        before, kind = prefix, here
    return found


def convert(tags, scheme):
    """The tags of one sentence, of any scheme, in another one."""
    result = ["O"] * len(tags)
    after = None
    for kind, begin, end in entities(tags):
        for place in range(begin, end):
            prefix = "I"
            if scheme == "bioes" and end == begin + 1:
                prefix = "S"
            elif scheme == "bioes" and place == end - 1:
                prefix = "E"
            elif place == begin and (
                scheme != "iob1" or after == (kind, begin)
            ):
                prefix = "B"
            result[place] = f"{prefix}-{kind}" if kind else prefix
        after = (kind, end)
    return result


def scores(gold, predicted):
    """Figures of conlleval over sentences, in percent.

    Returns a dict `precision`, `recall`, `f1`, `accuracy` (of tags), counts
    `gold`, `found` and `correct`, and `types`: per type the same without the
    accuracy.
    """
    counts, same, words = {}, 0, 0
    for one, other in zip(gold, predicted, strict=True):
        words += len(one)
        same += sum(a == b for a, b in zip(one, other, strict=True))
        wanted, found = set(entities(one)), set(entities(other))
        for index, group in enumerate((wanted, found, wanted & found)):
            for entity in group:
                counts.setdefault(entity[0], [0, 0, 0])[index] += 1
    total = [sum(column) for column in zip(*counts.values(), strict=True)]
    result = _figures(*total or (0, 0, 0))
    result["accuracy"] = 100.0 * same / words if words else 0.0
    result["types"] = {kind: _figures(*counts[kind]) for kind in sorted(counts)}
    return result


def _figures(gold, found, correct):
    precision = 100.0 * correct / found if found else 0.0
    recall = 100.0 * correct / gold if gold else 0.0
    both = precision + recall
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / both if both else 0.0,
        "gold": gold,
        "found": found,
        "correct": correct,
    }
