"""What `keras-bert VERB --help` says."""

import argparse

import pytest

from keras_bert.cli._common import counted
from keras_bert.cli.main import VERBS
from keras_bert.cli.main import build_parser


@pytest.fixture(scope="module")
def actions():
    """{verb: its arguments}"""
    (verbs,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    assert tuple(verbs.choices) == VERBS
    return {verb: parser._actions for verb, parser in verbs.choices.items()}


@pytest.mark.parametrize(
    "verb", ["vocab", "convert", "features", "info", "fill-mask", "export"]
)
def test_every_argument_is_explained_and_every_default_is_named(verb, actions):
    for action in actions[verb]:
        assert action.help, action.dest
        # A switch is off when it is not given.
        if action.option_strings and action.default not in (
            None,
            False,
            argparse.SUPPRESS,
        ):
            assert "default" in action.help, action.dest


def test_one_thing_is_not_many():
    assert counted(1, "document") == "1 document"
    assert counted(0, "document") == "0 documents"
    assert counted(2000, "line") == "2,000 lines"
