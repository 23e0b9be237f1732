"""Text -> a folder of shards: with processes here, or on a cluster.

    OUT/preparation.json          settings; a rerun has to have the same
    OUT/shard-00000-000.tfrecord  documents          written by `run_task`
    OUT/shard-00000.json          task 0 is done: the entries of its shards
    OUT/vocab.txt, tokenizer_config.json
    OUT/index.json                when all tasks are done

Every file appears whole or not at all, so whatever interrupts a run, the next
one does what is missing. Several machines may work in one folder.
"""

import concurrent.futures
import contextlib
import functools
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time

from keras_bert._errors import invalid
from keras_bert.data import filesystem
from keras_bert.data.preparation import Preparation
from keras_bert.data.preparation import entries_of
from keras_bert.data.preparation import plan
from keras_bert.data.preparation import plan_digest
from keras_bert.data.preparation import run_task
from keras_bert.data.shard_folder import INDEX
from keras_bert.data.shard_folder import fingerprint
from keras_bert.tokenizers._group_factors import group_factors

_SETTINGS = "preparation.json"


def prepare(
    preparation,
    tokenizer,
    folder,
    workers=1,
    shard=(0, 1),
    runner=None,
    runner_options=(),
    progress=None,
):
    """Make the shards of a `Preparation`, or one part of them.

    Args:
        preparation: a `Preparation`.
        tokenizer: a `BertTokenizer`.
        folder: where the shards go; anything that `tf.io.gfile` writes. It
            may hold what an earlier run of the same preparation has left.
        workers: integer: processes.
        shard: (i, n): the tasks i, i + n, i + 2n, ... only; n counts as 0.
        runner: `None`, or the name of an Apache Beam runner.
        runner_options: list of str: options of the Beam pipeline.
        progress: function of (tasks done, tasks in all), or `None`.

    Returns:
        The index as a dict, or `None` while tasks of other parts are missing.

    Raises:
        ValueError: naming the argument; also if the folder holds other
            shards, or the text has no token.
    """
    index, count = shard
    if count < 1 or not 0 <= index <= count:
        raise invalid("shard", "I/N with I from 0 to N", f"{index}/{count}")
    if workers < 1:
        raise invalid("workers", "an integer from 1", workers)
    folder = os.fspath(folder)
    tasks, groups = plan(preparation)
    settings = {
        "settings": preparation.settings(),
        "files": plan_digest(tasks),
        "tokenizer": fingerprint(tokenizer),
    }
    _claim(folder, settings)
    numbers = [n for n in range(len(tasks)) if n % count == index % count]
    if runner is not None:
        from keras_bert.data.beam_pipeline import run_with_beam

        run_with_beam(
            preparation, tokenizer, folder, tasks, numbers, runner,
            runner_options,
        )  # fmt: skip
    else:
        _run_here(
            preparation, tokenizer, folder, tasks, numbers, workers, progress
        )
    found = [entries_of(number, folder) for number in range(len(tasks))]
    if any(entries is None for entries in found):
        return None
    entries = [entry for part in found for entry in part]
    if not entries:
        raise invalid(
            "files",
            "text with at least one token (it is empty)",
            preparation.files,
        )
    result = _index(preparation, tokenizer, groups, entries, settings)
    _write_tokenizer(tokenizer, folder)
    filesystem.write_text(
        filesystem.join(folder, INDEX), json.dumps(result, indent=1) + "\n"
    )
    _clean(folder)
    return result


def _clean(folder):
    """Removes the shards that killed runs have left half-written.

    All are there, so nobody writes one. Another part may be writing the index.
    """
    partial = os.path.join(folder, ".partial")
    if filesystem.is_remote(folder):
        return
    with contextlib.suppress(OSError):
        for name in os.listdir(partial):
            if name.startswith("shard-"):
                os.remove(os.path.join(partial, name))
        os.rmdir(partial)


def _claim(folder, settings):
    """Write the settings, or compare with those of an earlier run."""
    if filesystem.is_file(folder):
        raise invalid("output", "a folder (this is a file)", folder)
    names = [n for n in filesystem.names_in(folder) if n != ".partial"]
    path = filesystem.join(folder, _SETTINGS)
    # Without a shard, as after a file that was refused, nothing is bound.
    if names == [_SETTINGS]:
        names = []
    if _SETTINGS in names:
        earlier = json.loads(filesystem.read_bytes(path))
        for name, value in {**settings.pop("settings"), **settings}.items():
            before = {**earlier["settings"], **earlier}.get(name)
            if before != value:
                shown = f"{name} = {before}"
                if name == "files":
                    shown = "another text (delete it to prepare this one)"
                raise invalid(
                    "output",
                    f"the shards of one preparation: {folder} was begun with "
                    f"{shown}",
                    value,
                )
        settings["settings"] = earlier["settings"]
        return
    if names:
        raise invalid("output", "a new path or an empty folder", folder)
    filesystem.make_folder(folder)
    filesystem.write_text(path, json.dumps(settings, indent=1) + "\n")


def _run_here(
    preparation, tokenizer, folder, tasks, numbers, workers, progress
):
    report = progress or (lambda done, total: None)
    if workers == 1:
        for done, number in enumerate(numbers):
            report(done, len(numbers))
            run_task(preparation, number, tasks[number], tokenizer, folder)
        return
    work = functools.partial(
        run_task_from_config,
        preparation.settings(),
        json.dumps(tokenizer.get_config()),
        folder,
    )
    # Fork would copy a TensorFlow that is running.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        min(workers, max(1, len(numbers))),
        context,
        initializer=_end_with,
        initargs=(os.getpid(),),
    ) as pool:
        futures = [
            pool.submit(work, (number, tasks[number])) for number in numbers
        ]
        try:
            for done, future in enumerate(
                concurrent.futures.as_completed(futures)
            ):
                report(done, len(numbers))
                future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def _end_with(parent):
    """Ends this process soon after its parent has gone, however it went."""

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def run_task_from_config(settings, tokenizer_config, folder, task):
    """`run_task` from plain values, in a process of its own."""
    number, blocks = task
    return run_task(
        Preparation.from_settings(settings),
        number,
        blocks,
        _tokenizer_of(tokenizer_config),
        folder,
    )


@functools.lru_cache(maxsize=2)
def _tokenizer_of(config):
    from keras_bert._tensorflow import tensorflow
    from keras_bert.tokenizers import BertTokenizer

    # The processes share the machine: one thread each. TensorFlow that is
    # running already (a thread of a Beam worker) keeps what it has.
    with contextlib.suppress(RuntimeError):
        tensorflow().config.threading.set_intra_op_parallelism_threads(1)
        tensorflow().config.threading.set_inter_op_parallelism_threads(1)
    return BertTokenizer.from_config(json.loads(config))


def _index(preparation, tokenizer, groups, entries, settings):
    def total(name):
        return sum(entry[name] for entry in entries)

    def histogram(name):
        lists = [entry[name] for entry in entries]
        width = max(map(len, lists))
        return [sum(x[i] for x in lists if i < len(x)) for i in range(width)]

    is_google = preparation.google is not None
    result = {
        "format": "google" if is_google else "keras_bert",
        "version": 1,
        "settings": settings["settings"],
        "files": settings["files"],
        "tokenizer": {
            "fingerprint": settings["tokenizer"],
            "size": tokenizer.vocabulary_size(),
            "lowercase": tokenizer.lowercase,
            "strip_accents": tokenizer.strip_accents,
            "special_tokens_in_strings": tokenizer.special_tokens_in_strings,
        },
        "documents": total("documents"),
        "sentences": total("sentences"),
        "tokens": total("tokens"),
    }
    if is_google:
        result["records"] = total("records")
    else:
        # Entry i counts the lengths from 2**i to 2**(i+1) - 1, in tokens.
        result["document_lengths"] = histogram("document_lengths")
        result["sentence_lengths"] = histogram("sentence_lengths")
        tokens = histogram("tokens_of_groups")
        factors = group_factors(tokens, preparation.sampling).tolist()
        documents = histogram("documents_of_groups")
        result["groups"] = [
            {
                "name": name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1],
                "documents": documents[i],
                "tokens": tokens[i],
                "factor": factors[i],
            }
            for i, name in enumerate(groups[: len(tokens)])
        ]
    result["shards"] = entries
    return result


def _write_tokenizer(tokenizer, folder):
    with tempfile.TemporaryDirectory() as local:
        tokenizer.save_to_preset(local)
        for name in sorted(os.listdir(local)):
            with open(os.path.join(local, name), encoding="utf-8") as file:
                filesystem.write_text(
                    filesystem.join(folder, name), file.read()
                )
