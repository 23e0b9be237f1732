"""The other distribution with a module keras_bert is refused at import."""

import os
import subprocess
import sys

import pytest

from keras_bert._foreign import refuse_foreign_package


def install(folder, name, version="0.89.0"):
    """Writes what pip leaves in site-packages for a distribution."""
    stem = name.replace("-", "_")
    info = folder / f"{stem}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )


def test_a_clean_environment_is_accepted():
    assert refuse_foreign_package() is None


def test_our_own_distribution_is_accepted(tmp_path, monkeypatch):
    install(tmp_path, "keras3-bert")
    monkeypatch.syspath_prepend(tmp_path)
    assert refuse_foreign_package() is None


@pytest.mark.parametrize("name", ["keras-bert", "keras_bert", "Keras-BERT"])
def test_the_foreign_distribution_is_refused(tmp_path, monkeypatch, name):
    install(tmp_path, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError) as caught:
        refuse_foreign_package()
    message = str(caught.value)
    assert "0.89.0" in message
    assert "pip uninstall keras-bert" in message
    assert "pip install --force-reinstall" in message
    assert message.index("uninstall") < message.index("--force-reinstall")


def test_import_keras_bert_refuses_the_foreign_distribution(tmp_path):
    install(tmp_path, "keras-bert")
    child = subprocess.run(
        [sys.executable, "-c", "import keras_bert"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert child.returncode == 1
    assert "pip uninstall keras-bert" in child.stderr.splitlines()[-1]
