"""Memory of loading, and time of converting, a bert_large checkpoint.

Claims: loading peaks at no more than 1.3 times the weights' size above the
built model, and a conversion (which reads everything back) takes under a
minute. Weights are random, float32, 1.34 GB; no network. Memory is the peak
resident size that Linux reports (VmHWM), reset after the model is built.

    python benchmarks/checkpoints.py [--config bert_large] [--folder DIR]

The last line is JSON.
"""

import argparse
import gc
import json
import platform
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

from keras_bert import checkpoints
from keras_bert.checkpoints.names import part_of
from keras_bert.checkpoints.parts import Parts
from keras_bert.checkpoints.shapes import expected_shapes
from keras_bert.checkpoints.write import write_parts
from keras_bert.models import BertBackbone
from keras_bert.models.sizes import size_arguments

PARTS = ("embeddings", "encoder", "pooler", "mlm", "next_sentence")


def write_random(folder, config_name):
    """A Hugging Face folder of random weights; holds one array at a time."""
    generator = np.random.default_rng(0)
    config = {
        "vocabulary_size": 30522,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "max_sequence_length": 512,
        "num_segments": 2,
        "activation": "gelu",
        "layer_norm_epsilon": 1e-12,
        "initializer_range": 0.02,
        "pooler": True,
        **size_arguments(config_name),
    }
    arrays = {
        name: (
            part_of(name),
            shape,
            "float32",
            lambda shape=shape: generator.standard_normal(shape, "float32"),
        )
        for name, shape in expected_shapes(config, PARTS).items()
    }
    parts = Parts(config, arrays, task="BertPretrainer")
    write_parts(parts, folder, "huggingface")


def resident(key):
    """VmRSS or VmHWM of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}")


def measure_load(folder):
    """(seconds, peak above the built model / size of the weights)."""
    checkpoint = checkpoints.open_source(folder)
    model = BertBackbone(**checkpoint.backbone_config)
    for variable in model.weights:
        keras.ops.convert_to_numpy(variable)[:1]
    gc.collect()
    # Resets the peak (man 5 proc, clear_refs).
    Path("/proc/self/clear_refs").write_text("5")
    before, start = resident("VmRSS"), time.perf_counter()
    checkpoints.load_weights(model, checkpoint)
    seconds = time.perf_counter() - start
    return seconds, (resident("VmHWM") - before) / (4 * model.count_params())


def measure_convert(source, target, format):
    start = time.perf_counter()
    checkpoints.convert(source, target, format)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", default="bert_large")
    parser.add_argument("--folder", help="where to write 4 GB; else /tmp")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        folder = Path(folder)
        write_random(folder / "huggingface", args.config)
        seconds, peak = measure_load(folder / "huggingface")
        result = {
            "backend": keras.config.backend(),
            "python": platform.python_version(),
            "config": args.config,
            "load_seconds": round(seconds, 1),
            "load_peak_over_weights": round(peak, 2),
        }
        for source, target in (
            ("huggingface", "google"),
            ("google", "keras_bert"),
        ):
            seconds = measure_convert(folder / source, folder / target, target)
            result[f"{source}_to_{target}_seconds"] = round(seconds, 1)
    for key, value in result.items():
        print(f"{key:36}{value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
