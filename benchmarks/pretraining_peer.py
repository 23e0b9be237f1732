"""The side of transformers in `pretraining.py`, and the batches of both.

The peer keeps freed memory between steps as our `fit` does
(`keras_bert.training._memory`): both are in one process, and without it both
take almost twice the time.
"""

import statistics
import time

WARM_STEPS = 2


def training_data(args, tokenizer, corpus, seed):
    import keras_bert as kb

    one = kb.pretraining_dataset(
        corpus, tokenizer, args.length, args.batch, seed=seed, packing=False
    )
    epochs = -(-args.steps // int(one.cardinality()))
    return kb.pretraining_dataset(
        corpus,
        tokenizer,
        args.length,
        args.batch,
        seed=seed,
        packing=False,
        epochs=epochs,
        start_epoch=0,
    ).take(args.steps)


def held_out_data(args, tokenizer, corpus):
    import keras_bert as kb

    return kb.pretraining_dataset(
        corpus, tokenizer, args.length, args.batch, packing=False, fixed=True
    )


def autocast():
    """The peer's bfloat16, where our policy is mixed_bfloat16."""
    import keras
    import torch

    policy = keras.config.dtype_policy().name
    enabled = policy == "mixed_bfloat16"
    return torch.autocast("cpu", torch.bfloat16, enabled=enabled)


def torch_batch(batch):
    """Our batch in the words of transformers."""
    import numpy as np
    import torch

    x, y, weight = batch
    labels = np.full(x["token_ids"].shape, -100, "int64")
    rows, slots = np.nonzero(weight["mask_ids"])
    labels[rows, x["mask_positions"][rows, slots]] = y["mask_ids"][rows, slots]
    return {
        name: torch.from_numpy(array.astype("int64"))
        for name, array in {
            "input_ids": x["token_ids"],
            "token_type_ids": x["segment_ids"],
            "attention_mask": x["padding_mask"],
            "labels": labels,
            "next_sentence_label": y["next_sentence"][:, 0],
        }.items()
    }


def peer(folder, attention, compiled):
    import torch
    from transformers import BertForPreTraining

    model = BertForPreTraining.from_pretrained(
        folder, attn_implementation=attention
    )
    return (torch.compile(model) if compiled else model), model


def peer_optimizer(model, args):
    import torch

    groups = [{"params": [], "weight_decay": 0.01},
              {"params": [], "weight_decay": 0.0}]  # fmt: skip
    for name, parameter in model.named_parameters():
        plain = name.endswith("bias") or "LayerNorm" in name
        groups[plain]["params"].append(parameter)
    optimizer = torch.optim.AdamW(groups, lr=args.rate, eps=1e-6, fused=True)
    warmup = int(0.1 * args.steps)

    def factor(step):
        if step < warmup:
            return step / warmup
        return max(0.0, (args.steps - step) / max(1, args.steps - warmup))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)


def peer_step(run, model, optimizer, schedule, batch):
    import torch

    with autocast():
        loss = run(**torch_batch(batch)).loss
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    return loss.item()


def theirs(args, tokenizer, corpora, seed, folder, settings):
    import torch

    from keras_bert.training._memory import memory_kept

    torch.manual_seed(seed)
    run, model = peer(folder, *settings)
    model.train()
    optimizer, schedule = peer_optimizer(model, args)
    ends = [time.perf_counter()]
    data = training_data(args, tokenizer, corpora[0], seed)
    with memory_kept() as keepers:
        for number, batch in enumerate(data.as_numpy_iterator()):
            for keeper in keepers:
                keeper.on_train_batch_begin(number)
            peer_step(run, model, optimizer, schedule, batch)
            ends.append(time.perf_counter())
    loss = peer_loss(args, model, tokenizer, corpora[1])
    return loss, ends[-1] - ends[WARM_STEPS], ends[WARM_STEPS] - ends[0]


def peer_loss(args, model, tokenizer, corpus):
    """Mean loss over all masked tokens of the held-out text."""
    import torch

    model.eval()
    total, count = 0.0, 0
    for batch in held_out_data(args, tokenizer, corpus).as_numpy_iterator():
        inputs = torch_batch(batch)
        labels = inputs.pop("labels")
        del inputs["next_sentence_label"]
        with torch.no_grad(), autocast():
            logits = model(**inputs).prediction_logits
        total += torch.nn.functional.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), reduction="sum"
        ).item()
        count += int((labels != -100).sum())
    return total / count


def best_settings(args, tokenizer, corpora, folder):
    """The peer's fastest way on this machine, found by trying."""
    from keras_bert.training._memory import memory_kept

    tried = {}
    steps = 3 if args.tiny else 12
    batches = list(
        training_data(args, tokenizer, corpora[0], 0)
        .take(steps + WARM_STEPS)
        .as_numpy_iterator()
    )
    for attention in ("eager", "sdpa"):
        for compiled in (False, True):
            try:
                run, model = peer(folder, attention, compiled)
                optimizer, schedule = peer_optimizer(model, args)
                model.train()
                ends = []
                with memory_kept():
                    for batch in batches:
                        peer_step(run, model, optimizer, schedule, batch)
                        ends.append(time.perf_counter())
            except Exception as error:  # no compiler, for instance
                print(f"  {attention}, compiled {compiled}: {error!r:.80}")
                continue
            paces = [b - a for a, b in zip(ends, ends[1:], strict=False)]
            pace = statistics.median(paces[WARM_STEPS - 1 :])
            tried[attention, compiled] = pace
            print(
                f"  peer with {attention} attention, torch.compile "
                f"{'on' if compiled else 'off'}: {pace:.3f} s a step",
                flush=True,
            )
    return min(tried, key=tried.get)
