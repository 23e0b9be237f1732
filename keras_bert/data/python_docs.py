"""Real English that every Python carries, as a corpus and as a task.

`python_documentation` makes documents of sentences out of the language
reference in `pydoc_data.topics` and the docstrings of the standard library
and numpy. `labelled_docstrings` makes a classification task out of the same
docstrings: which package does this one come from?
"""

import functools
import re

import numpy as np

from keras_bert._errors import invalid
from keras_bert.data.docstrings import docstrings
from keras_bert.data.generators import check_seed
from keras_bert.data.sentences import split_sentences

# Few enough to read in a table, each with several modules, so that some can
# be held out, and all of them networking, text or numbers: not trivial.
_PACKAGES = (
    "asyncio",
    "email",
    "http",
    "importlib",
    "logging",
    "multiprocessing",
    "numpy",
    "unittest",
    "urllib",
    "xml",
)
_HELD_OUT_SHARE = 0.25
_FEWEST_WORDS = 5
# numpy alone has more docstrings than the other packages together.
_MOST_PER_PACKAGE = 300
# Docstrings that begin with the same characters count as copies.
_BEGINNING = 60

_WORD = re.compile(r"[^\W\d_]{2,}")
_RULE = re.compile(r"\W*$")
_ROLE = re.compile(r":[a-z:]+:`([^`]*)`|``|`_?|\*\*|\\")


def python_documentation():
    """The embedded corpus: a list of documents, each a list of sentences.

    About 2,400 documents with 28,000 sentences and 350,000 words (Python 3.11,
    numpy 2); code, tables and headings are left out. The result depends only
    on the platform and the versions of Python and numpy.

    Example:

    ```python
    documents = keras_bert.data.python_documentation()
    print(len(documents), documents[0][:2])
    ```
    """
    return [list(document) for document in _documentation()]


def labelled_docstrings(seed=1):
    """Docstrings and the package each comes from, split by module.

    No module is in both parts, and no held-out text begins like one to train
    on (numpy repeats docstrings in several modules). The names of all the
    packages are taken out of all the texts, so no text says its own label.

    Args:
        seed: integer: which modules are held out.

    Returns:
        Two dicts, to train on and held out, with `texts` (list of strings),
        `labels` (list of package names), `modules` (list of module names)
        and `counts` (docstrings of each package).

    Example:

    ```python
    train, held_out = keras_bert.data.labelled_docstrings(seed=1)
    print(train["counts"], held_out["counts"])
    ```
    """
    check_seed(seed)
    names = re.compile(rf"\b({'|'.join(_PACKAGES)}|np)\b\.?", re.IGNORECASE)
    rows = {package: {} for package in _PACKAGES}
    seen = set()
    for docstring, sentences in _prose():
        if docstring.package not in rows:
            continue
        text = " ".join(sentences)
        text = " ".join(names.sub("", text).split())
        if len(_WORD.findall(text)) < _FEWEST_WORDS or text in seen:
            continue
        seen.add(text)
        modules = rows[docstring.package]
        modules.setdefault(docstring.module, []).append(text)
    train = {"texts": [], "labels": [], "modules": []}
    held_out = {"texts": [], "labels": [], "modules": []}
    rng = np.random.default_rng(seed)
    beginnings = set()
    for package, modules in rows.items():
        names_held_out, names_train = _split(modules, rng)
        _add(train, package, modules, names_train, _MOST_PER_PACKAGE, rng)
        beginnings.update(
            text[:_BEGINNING] for name in names_train for text in modules[name]
        )
        own = {
            name: [t for t in modules[name] if t[:_BEGINNING] not in beginnings]
            for name in names_held_out
        }
        most = int(_HELD_OUT_SHARE * _MOST_PER_PACKAGE)
        _add(held_out, package, own, names_held_out, most, rng)
    for part in (train, held_out):
        part["counts"] = {
            package: part["labels"].count(package) for package in _PACKAGES
        }
    return train, held_out


def prose_sentences(text):
    """The sentences of a docstring that are prose.

    Left out: doctest examples, literal blocks after `::`, underlines, table
    rows and whatever has fewer than three words or more signs than letters.
    A change of indentation ends a paragraph.

    >>> prose_sentences("Sum of the items.\\n\\n>>> total([1, 2])\\n3")
    ['Sum of the items.']
    """
    sentences = []
    for paragraph in _paragraphs(text):
        paragraph = _ROLE.sub(lambda match: match.group(1) or "", paragraph)
        sentences.extend(
            sentence
            for sentence in split_sentences(paragraph)
            if _is_prose(sentence)
        )
    return sentences


@functools.cache
def _prose():
    return [(item, prose_sentences(item.text)) for item in docstrings()]


@functools.cache
def _documentation():
    from pydoc_data.topics import topics

    documents = [prose_sentences(text) for _, text in sorted(topics.items())]
    by_owner = {}
    for docstring, sentences in _prose():
        # Short ones stay together, in one document for their module.
        owner = docstring.owner
        if "." not in docstring.name and len(sentences) < 3:
            owner = owner.rpartition(".")[0]
        by_owner.setdefault(owner, []).extend(sentences)
    documents.extend(by_owner.values())
    # A sentence that hundreds of functions share ("If provided, it must have
    # a shape that...") is kept where it comes first.
    seen = set()
    kept = []
    for document in documents:
        new = []
        for sentence in document:
            if sentence not in seen:
                seen.add(sentence)
                new.append(sentence)
        if len(new) > 1:
            kept.append(tuple(new))
    return tuple(kept)


def _paragraphs(text):
    lines = []
    indentation = 0
    skip_deeper_than = None
    in_doctest = False
    for line in [*text.expandtabs().split("\n"), ""]:
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        in_doctest = bool(stripped) and (
            in_doctest or stripped.startswith(">>>")
        )
        if skip_deeper_than is not None and stripped:
            if depth > skip_deeper_than:
                continue
            skip_deeper_than = None
        if (
            in_doctest
            or _RULE.match(line)
            or (lines and abs(depth - indentation) > 1)
        ):
            if lines:
                yield " ".join(lines)
            lines = []
        if in_doctest or _RULE.match(line):
            continue
        indentation = depth
        if stripped.endswith("::"):
            skip_deeper_than = depth
            stripped = stripped[:-1]
        lines.append(stripped)


def _is_prose(sentence):
    letters = sum(map(str.isalpha, sentence))
    signs = len(sentence) - letters - sentence.count(" ")
    return len(_WORD.findall(sentence)) >= 3 and signs * 3 <= letters


def _add(part, package, modules, names, most, rng):
    texts = [(name, text) for name in names for text in modules[name]]
    if len(texts) > most:
        keep = rng.permutation(len(texts))[:most]
        texts = [texts[index] for index in sorted(keep.tolist())]
    part["texts"].extend(text for _, text in texts)
    part["modules"].extend(name for name, _ in texts)
    part["labels"].extend([package] * len(texts))


def _split(modules, rng):
    """Modules of a package held out, and those to train on.

    Modules in random order are held out until they have a quarter of the
    package's texts; one that has more than half of them is always trained on.
    """
    total = sum(len(texts) for texts in modules.values())
    held_out, train = [], []
    count = 0
    names = sorted(modules)
    for index in rng.permutation(len(names)).tolist():
        size = len(modules[names[index]])
        if count + size <= max(_HELD_OUT_SHARE, 2 / len(names)) * total:
            held_out.append(names[index])
            count += size
        else:
            train.append(names[index])
    if not held_out or not train:
        raise invalid("seed", "a seed that splits every package", modules)
    return held_out, train
