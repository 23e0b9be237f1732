"""Facts about the package, the two commands and the skipped tests."""

import ast
import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
SKIPS = {"skip", "skipif", "xfail", "importorskip"}
ALLOWED = {"conftest.py::shared"}


@pytest.fixture(scope="module")
def config():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    return parser


def requirements(text):
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return {line for line in lines if line}


def test_distribution_is_keras3_bert_and_the_module_keras_bert(config):
    assert config["metadata"]["name"] == "keras3-bert"
    assert config["options.packages.find"]["include"] == "keras_bert*"
    assert config["options"]["python_requires"] == ">=3.11"
    # The archived distribution owns this name.
    assert config["metadata"]["name"].replace("_", "-") != "keras-bert"


def test_hard_dependencies_are_exactly_these(config):
    assert requirements(config["options"]["install_requires"]) == {
        "keras>=3.15",
        "tensorflow>=2.21",
        "tensorflow-text>=2.21.1",
        "keras-nlp>=0.32",
        "numpy",
        "safetensors",
        "tokenizers",
    }


def test_extras_are_present(config):
    extras = config["options.extras_require"]
    names = "jax torch onnx beam eval plot serve docs test"
    assert set(extras) >= set(names.split())
    assert all(requirements(extras[name]) for name in extras)
    assert requirements(extras["torch"]) == {"torch==2.13.0"}


def test_console_script_is_keras_bert(config):
    scripts = config["options.entry_points"]["console_scripts"]
    assert requirements(scripts) == {"keras-bert = keras_bert.cli.main:main"}


def test_pyproject_names_the_build_system_only():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert set(project) == {"build-system"}


def test_license_is_apache_2(config):
    assert config["metadata"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert re.search(r"Apache License\s+Version 2\.0, January 2004", text)
    assert "END OF TERMS AND CONDITIONS" in text


def test_makefile_has_the_two_commands_and_torch_args():
    text = (ROOT / "Makefile").read_text("utf-8")
    for target in ("demo", "test"):
        assert re.search(rf"^{target}:", text, re.MULTILINE), target
    assert "$(TORCH_ARGS)" in text
    (backends,) = re.findall(r"^BACKENDS := (.*)$", text, re.MULTILINE)
    assert sorted(backends.split()) == ["jax", "tensorflow", "torch"]
    assert "test-tensorflow test-jax test-torch: test-%:" in text
    assert "KERAS_BACKEND=$* $(BIN)/python -m pytest $(EACH)" in text
    assert "$(BACKENDS:%=test-%) test-once)" in text


def test_makefile_runs_every_test_file():
    text = (ROOT / "Makefile").read_text("utf-8")
    listed = set(re.findall(r"tests/([\w.]+)", text))
    # Both ways: pytest stops at a path that does not exist.
    assert listed == {
        path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")
    }


def test_ci_runs_all_and_prints_the_slowest_tests():
    path = ROOT / ".ci" / "run"
    text = path.read_text("utf-8")
    assert "--durations=20" in text
    assert "set -euo pipefail" in text
    assert path.stat().st_mode & 0o111


def skips(source):
    """Names of the functions with a skip or an expected failure in them."""
    found = []

    def visit(node, owner):
        if isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            owner = node.name
        name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        if name.startswith("pytest.") and name.split(".")[-1] in SKIPS:
            found.append(owner)
        if isinstance(node, ast.ImportFrom) and node.module == "pytest":
            found.extend(owner for alias in node.names if alias.name in SKIPS)
        for child in ast.iter_child_nodes(node):
            visit(child, owner)

    visit(ast.parse(source), "module")
    return found


def known_gaps(text):
    """{place: reason} of the lines; every line names an issue by URL."""
    gaps = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            place, issue, reason = line.split(maxsplit=2)
            assert re.fullmatch(r"https://\S+/(issues|pull)/\d+", issue), line
            gaps[place] = reason
    return gaps


def test_every_skipped_test_is_a_known_gap_with_an_upstream_issue():
    found = {
        f"{path.relative_to(TESTS).as_posix()}::{owner}"
        for path in TESTS.rglob("*.py")
        for owner in skips(path.read_text("utf-8"))
    }
    gaps = known_gaps((TESTS / "known_gaps.txt").read_text("utf-8"))
    assert found - ALLOWED == set(gaps)


def test_the_search_for_skips_sees_each_form():
    assert skips("def f():\n    pytest.skip('x')") == ["f"]
    assert skips("@pytest.mark.xfail\ndef f():\n    pass") == ["f"]
    assert skips("pytestmark = pytest.mark.skipif(1, reason='')") == ["module"]
    assert skips("x = pytest.importorskip('onnx')") == ["module"]
    assert skips("from pytest import skip") == ["module"]
    assert skips("import pytest\npytest.raises(ValueError)") == []
    with pytest.raises(AssertionError):
        known_gaps("a/test_b.py::test_c no-issue it fails")


def test_contributing_names_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    packages = {p.name for p in (ROOT / "keras_bert").iterdir() if p.is_dir()}
    named = set(re.findall(r"`([\w/.]+\.(?:py|md|txt|toml))`", text))
    assert len(named) > 10
    for name in named - {"__init__.py"}:
        inside = name.split("/")[0] in packages
        assert (ROOT / ("keras_bert/" if inside else "") / name).exists(), name
    for package in packages - {"__pycache__"}:
        assert f"    {package}/" in text, package


def test_contributing_names_the_one_test_that_it_runs():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    (word,) = re.findall(r"pytest tests -k (\w+)", text)
    sources = [path.read_text("utf-8") for path in TESTS.rglob("test_*.py")]
    assert sum(source.count(f"def test_{word}(") for source in sources) == 1
    for path in re.findall(r"pytest (tests/\S+)", text):
        assert (ROOT / path).exists(), path
