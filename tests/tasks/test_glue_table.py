"""The paper's Table 1 beside one's own figures."""

import pytest

from keras_bert.tasks import glue_table

# The averages that the paper prints, which the rows have to give.
PRINTED = {
    "Pre-OpenAI SOTA": 74.0,
    "OpenAI GPT": 75.1,
    "BERT BASE": 79.6,
    "BERT LARGE": 82.1,
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_paper_averages_are_the_means_of_its_figures(name):
    header, _, *rows = glue_table.table({})
    row = next(row for row in rows if row[0] == name)
    assert header[-1] == "average"
    # Table 1 rounds 79.55 up and 75.15 down.
    assert float(row[-1]) == pytest.approx(PRINTED[name], abs=0.1)


def test_a_row_with_a_gap_has_no_average():
    own = {"cola": {"matthews": 0.521, "score": 0.521}}
    row = glue_table.table({"ours": own})[-1]
    header = glue_table.table({})[0]
    cells = dict(zip(header, row, strict=True))
    assert cells["CoLA"] == "52.1" and cells["RTE"] == "-"
    assert cells["average"] == "-"


def test_the_paper_figure_of_a_task_with_two_metrics_is_the_printed_one():
    own = {
        "mrpc": {"accuracy": 0.1, "f1": 0.889},
        "sts-b": {"pearson": 0.1, "spearman": 0.858},
        "mnli": {"accuracy": 0.846, "dev_mismatched": {"accuracy": 0.834}},
    }
    cells = dict(
        zip(glue_table.table({})[0], glue_table.table({"o": own})[-1],
            strict=True)
    )  # fmt: skip
    assert (cells["MRPC"], cells["STS-B"]) == ("88.9", "85.8")
    assert (cells["MNLI-m"], cells["MNLI-mm"]) == ("84.6", "83.4")
