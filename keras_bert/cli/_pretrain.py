"""A pretraining run: model, data, phases, reports."""

import itertools
import statistics
import time

from keras_bert._errors import invalid
from keras_bert.cli import _common
from keras_bert.cli._pretrain_text import tokenizer_of_shards
from keras_bert.cli._run_log import RunLog
from keras_bert.cli._run_log import RunProgress
from keras_bert.training import NanGuard
from keras_bert.training import phases

_POLICIES = {
    "float32": "float32",
    "bfloat16": "mixed_bfloat16",
    "float16": "mixed_float16",
}
# Steps that measure the machine before `--minutes` becomes a number of steps.
_TRIAL_STEPS = 12
# Batches of held-out text measured at each report.
_HELD_OUT_BATCHES = 20


def dataset_of(text, tokenizer, settings, length, **arguments):
    """The `pretraining_dataset` of these settings for one row length."""
    from keras_bert import data

    left_to_right = settings["objective"] == "left-to-right"
    dataset = data.pretraining_dataset(
        text.source,
        tokenizer,
        sequence_length=length,
        # One batch is one update; `accumulate` works through it in parts.
        batch_size=settings["batch_size"] * settings["accumulate"],
        seed=settings["seed"],
        masking=settings["masking"],
        mask_rate=settings["mask_rate"],
        mask_token_rate=settings["mask_token_rate"],
        random_token_rate=settings["random_token_rate"],
        **{"next_sentence": settings["next_sentence"], **arguments},
    )
    return data.next_tokens(dataset) if left_to_right else dataset


def build(settings, tokenizer):
    """The model as a run begins with it, from a name or from a SOURCE."""
    from keras_bert.models import BertBackbone
    from keras_bert.models import BertPretrainer
    from keras_bert.models import with_vocabulary

    policy = _POLICIES[settings["precision"]]
    pairs = settings["next_sentence"]
    if settings["model"]:
        pretrainer = BertPretrainer.from_preset(
            settings["model"],
            next_sentence=pairs,
            dtype=policy,
        )
        if pretrainer.backbone.causal != (
            settings["objective"] == "left-to-right"
        ):
            raise invalid(
                "--objective", "that of the checkpoint", settings["objective"]
            )
        pretrainer, notes = with_vocabulary(pretrainer, tokenizer)
        for note in notes:
            print(note)
        return pretrainer
    causal = settings["objective"] == "left-to-right"
    backbone = BertBackbone.from_config_name(
        settings["config"],
        vocabulary_size=tokenizer.vocabulary_size(),
        dtype=policy,
        **({"causal": True} if causal else {}),
        **settings["backbone"],
    )
    return BertPretrainer(backbone, tokenizer, next_sentence=pairs)


def compile_for(pretrainer, settings, line_steps):
    from keras_bert.training import AdamW
    from keras_bert.training import WarmupDecay

    schedule = WarmupDecay(
        settings["learning_rate"],
        settings["warmup"],
        total_steps=line_steps,
        original=settings["decay"] == "original",
    )
    pretrainer.compile(
        optimizer=AdamW(
            schedule,
            weight_decay=settings["weight_decay"],
            bias_correction=settings["bias_correction"],
            global_clipnorm=settings["clip"] or None,
        ),
        accumulate=settings["accumulate"],
    )
    pretrainer.count_tokens()
    return schedule


def new_model(settings, tokenizer, line_steps):
    """The compiled model of a run at step 0, and its schedule."""
    import keras

    keras.utils.set_random_seed(settings["seed"])
    pretrainer = build(settings, tokenizer)
    return pretrainer, compile_for(pretrainer, settings, line_steps)


def train(
    folder, settings, stages, text, model, schedule, tokenizer, held_out=None
):
    """Runs what is left of the run in `folder`; gives the figures.

    Args:
        folder: `RunFolder`; its newest checkpoint is where the run goes on.
        settings: dict, all options of the verb.
        stages: list of (first step, last step).
        text, held_out: `Text`; the second may be None.
        model, schedule: of `new_model`.
        tokenizer: `BertTokenizer`.
    """
    from keras_bert.training import state_file

    steps = settings["steps"]
    plan = phases.segments(settings["phases"], stages)
    per_epoch = {
        length: int(dataset_of(text, tokenizer, settings, length).cardinality())
        for length, _ in settings["phases"]
    }
    epochs = phases.positions(plan, per_epoch)
    log = RunLog(
        folder,
        settings,
        steps,
        _held_out(held_out, settings),
        held_out and held_out.fingerprint,
    )
    checkpoint = folder.newest()
    if checkpoint is not None:
        log.resume(checkpoint, state_file.read_state(checkpoint, model))
    folder.begin_at(log.step)
    _announce(settings, plan, per_epoch, text, model, log.step)
    started = time.monotonic()
    for segment, first_epoch in zip(plan, epochs, strict=True):
        end = min(segment.end, steps)
        if end <= log.step:
            continue
        length = segment.sequence_length
        epoch, batch = divmod(log.step - segment.first, per_epoch[length])
        count = end - log.step
        dataset = dataset_of(
            text,
            tokenizer,
            settings,
            length,
            start_epoch=first_epoch + epoch,
            skip=batch,
            epochs=-(-(batch + count) // per_epoch[length]),
        ).take(count)
        schedule.set_span(*segment.line)

        def left(step, plan=plan):
            return _steps_left(plan, steps, step)

        if log.restore_from is not None:
            state_file.build_metrics(model, next(dataset.as_numpy_iterator()))
        guard = NanGuard(log.place)
        log.begin(segment, per_epoch[length], first_epoch, guard, left)
        model.fit(
            dataset,
            verbose=0,
            callbacks=[
                guard,
                log,
                RunProgress(steps, first=log.step, left=left),
            ],
        )
    return {
        "steps": steps,
        "epochs": sum(
            (min(part.end, steps) - part.first)
            / per_epoch[part.sequence_length]
            for part in plan
            if part.first < steps
        ),
        "seconds": log.seconds,
        "seconds_of_this_process": time.monotonic() - started,
        "tokens": log.tokens,
        "tokens_per_second": log.tokens / max(log.seconds, 1e-9),
        "parameters": model.count_params(),
    }


def _held_out(held_out, settings):
    if held_out is None:
        return None
    from keras_bert.cli._evaluate_pretraining import held_out_figures

    length = settings["phases"][0][0]
    return lambda model: held_out_figures(
        model, held_out.source, length, _HELD_OUT_BATCHES
    )


def _steps_left(plan, steps, step):
    """How many steps of the present length what is left amounts to.

    A row's time grows about as its length; attention, which grows faster, is
    a small part of it up to 512.
    """
    here, left = None, 0.0
    for part in plan:
        end = min(part.end, steps)
        if end <= step:
            continue
        here = here or part.sequence_length
        count = end - max(part.first, step)
        left += count * part.sequence_length / here
    return left


def _announce(settings, plan, per_epoch, text, pretrainer, done):
    steps, rows = settings["steps"], settings["batch_size"]
    if settings["accumulate"] > 1:
        rows = f"{settings['accumulate']} x {rows}"
    epochs = 0.0
    shown = []
    for part in plan:
        count = min(part.end, steps) - part.first
        if count > 0:
            epochs += count / per_epoch[part.sequence_length]
            shown.append(f"{count:,} of {rows} x {part.sequence_length}")
    tokens = ""
    if text.num_tokens is not None:
        # Segments are cut to fit, so an epoch may see fewer than all.
        room = sum(
            (min(part.end, steps) - part.first)
            * settings["batch_size"]
            * settings["accumulate"]
            * part.sequence_length
            for part in plan
            if part.first < steps
        )
        seen = min(round(epochs * text.num_tokens), room)
        tokens = f" = {seen:,} tokens"
    print(
        f"{text}; {steps:,} steps ({', then '.join(shown)}) = {epochs:.1f} "
        f"epochs{tokens}; "
        f"{pretrainer.count_params():,} parameters",
        flush=True,
    )
    if done:
        print(f"goes on after step {done:,}", flush=True)


def steps_for(minutes, settings, text, tokenizer):
    """How many steps fit in the time, tried on a model of the same size."""
    import keras

    # The warm-up is judged by the steps that are found.
    copy, _ = new_model({**settings, "warmup": 0.1}, tokenizer, 1000)
    paces = []
    for length, share in settings["phases"]:
        ends = []
        timer = keras.callbacks.LambdaCallback(
            on_train_batch_end=lambda batch, logs, ends=ends: ends.append(
                (time.monotonic(), float(logs["loss"]))
            )
        )
        dataset = dataset_of(
            text, tokenizer, settings, length, epochs=_TRIAL_STEPS
        )
        copy.fit(dataset.take(_TRIAL_STEPS), verbose=0, callbacks=[timer])
        # The first step compiles.
        found = [b[0] - a[0] for a, b in itertools.pairwise(ends)] or [1.0]
        paces.append(share * statistics.median(found))
    return max(1, round(minutes * 60 / sum(paces)))


def tokenizer_of_run(folder, settings, given):
    """The tokenizer that the run has, or begins with.

    Args:
        folder: `RunFolder`.
        settings: dict, all options of the verb.
        given: dict, those of this call.
    """
    from keras_bert.data.shard_folder import fingerprint

    own = folder.tokenizer() if folder.begun else None
    if own is None:
        return tokenizer_of(settings)
    if given.get("vocab"):
        named = tokenizer_of(settings)
        if fingerprint(named) != fingerprint(own):
            raise invalid(
                "--vocab",
                f"the vocabulary that the run began with, in {folder.path}",
                given["vocab"],
            )
    return own


def tokenizer_of(settings):
    from keras_bert.tokenizers import BertTokenizer

    if settings["vocab"]:
        return _common.tokenizer_from(
            settings["vocab"], settings["cased"], settings["uncased"]
        )
    tokenizer = tokenizer_of_shards(settings["files"])
    if tokenizer is not None:
        return tokenizer
    if settings["model"]:
        return BertTokenizer.from_preset(settings["model"])
    raise invalid(
        "--vocab", "a vocabulary file with --config (shards have it)", None
    )
