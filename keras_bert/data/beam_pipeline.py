"""The tasks of a preparation as an Apache Beam pipeline.

Beam distributes the numbers of the tasks and nothing else: no document goes
through its shuffle, and each task writes its shards as `run_task` does
anywhere. Workers need this package and a file system that all share.
"""

import functools
import json


def run_with_beam(
    preparation, tokenizer, folder, tasks, numbers, runner, options
):
    """Run tasks on a Beam runner and wait for them.

    Args:
        preparation, tokenizer, folder: as of `prepare`.
        tasks, numbers: all tasks, and which of them to run.
        runner: name, for instance "DirectRunner", "FlinkRunner".
        options: list of str such as "--flink_master=host:8081", with or
            without the dashes.
    """
    try:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
    except ImportError as error:
        raise ImportError(
            "--runner needs the extra `beam` (pip install 'keras3-bert[beam]')"
            ", best in a virtual environment of its own: Beam brings an older "
            "protobuf"
        ) from error
    from keras_bert.data.prepare import run_task_from_config

    work = functools.partial(
        run_task_from_config,
        preparation.settings(),
        json.dumps(tokenizer.get_config()),
        folder,
    )
    flags = [f"--runner={runner}"]
    flags += [f"--{option.lstrip('-')}" for option in options]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        _ = (
            pipeline
            | "tasks" >> beam.Create([(n, tasks[n]) for n in numbers])
            # Without this a runner fuses all tasks into one.
            | "spread" >> beam.Reshuffle()
            | "prepare" >> beam.Map(work)
        )
