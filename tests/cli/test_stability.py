"""`keras-bert ablate stability`: what it compares, and that it goes on."""


def test_it_compares_corrections_and_epochs_and_goes_on(
    folder, glue, tmp_path, run_json
):
    run = tmp_path / "run"
    code, result = run_json(
        "ablate", "stability", "cola", "--data", glue / "CoLA", "--model",
        folder / "run", "-o", run, "--epochs", 1, "--seeds", 1,
        "--sequence-length", 16,
    )  # fmt: skip
    first = (run / "runs.jsonl").read_text()
    assert code == 0
    found = [
        (one["recipe"]["epochs"], one["recipe"]["bias_correction"])
        for one in result["summary"]
    ]
    assert found == [(1, False), (1, True)]
    assert (run / "stability.png").read_bytes()[1:4] == b"PNG"
    # The same with another seed has two runs left.
    code, again = run_json(
        "ablate", "stability", "cola", "--data", glue / "CoLA", "--model",
        folder / "run", "-o", run, "--epochs", 1, "--seeds", 2,
        "--sequence-length", 16,
    )  # fmt: skip
    assert code == 0
    lines = (run / "runs.jsonl").read_text()
    assert lines.startswith(first) and len(lines.splitlines()) == 4
    for before, after in zip(result["summary"], again["summary"], strict=True):
        assert after["runs"] == 2 and after["scores"][:1] == before["scores"]
    assert {one.name for one in run.glob("metrics_*.csv")} == {
        f"metrics_{number}.csv" for number in (1, 2, 3, 4)
    }
