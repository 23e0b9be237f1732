"""The few operations for which one body for all backends will not do.

Nothing else in the library asks which backend runs.
"""

import math

import keras
from keras import ops

# Far below any logit, yet finite in float32: a masked key gets the weight
# exp(-huge) = exactly 0, and a query without a single key no NaN.
_MASKED = -1e37

# From this length on, torch computes attention with dropout in pieces.
_LONG = 256


def is_concrete(x):
    """Whether the values of `x` can be read now.

    True for numbers, lists, numpy arrays and eager tensors. False for
    KerasTensors, graph tensors of tf.function and tf.data, JAX tracers (and
    JAX arrays spread over several hosts), and torch tensors that are fake,
    on the meta device or seen by a compiler.
    """
    if x is None or keras.utils.is_keras_tensor(x):
        return False
    if isinstance(x, keras.Variable):
        x = x.value
    module = type(x).__module__.partition(".")[0]
    if module == "tensorflow":
        from keras_bert._tensorflow import tensorflow

        tf = tensorflow()
        return tf.executing_eagerly() and not tf.is_symbolic_tensor(x)
    if module in ("jax", "jaxlib"):
        import jax

        return not isinstance(x, jax.core.Tracer) and getattr(
            x, "is_fully_addressable", True
        )
    if module == "torch":
        import torch

        return (
            type(x) in (torch.Tensor, torch.nn.Parameter)
            and x.device.type != "meta"
            and not torch.compiler.is_compiling()
            and not torch.jit.is_tracing()
        )
    return True


def compiles_per_shape():
    """Whether a step is compiled anew for every shape of its inputs."""
    return keras.config.backend() != "torch"


def attention_scores(query, key, mask):
    """Softmax of the masked logits, in float32: [batch, heads, to, from].

    `query` is [batch, to, heads, size], `key` [batch, from, heads, size],
    `mask` is a bool [batch, to, from]. A masked key has the weight 0, so the
    weights of a query without any key are all 0.
    """
    weights = _softmax(query, key, mask)
    return ops.where(ops.expand_dims(mask, 1), weights, 0.0)


def attention(query, key, value, mask, dropout=None):
    """Scaled dot-product attention: [batch, to, heads, size].

    Args:
        query: tensor [batch, to, heads, size].
        key, value: tensors [batch, from, heads, size].
        mask: bool tensor [batch, to, from]; True where the query (row) sees
            the key (column). A query that sees no key gets zeros.
        dropout: `None`, or a `Dropout` layer for the attention weights. With
            `None` the fused kernel of the backend is used where there is one.
    """
    backend = keras.config.backend()
    on_cpu = backend == "torch" and key.device.type == "cpu"
    fused = _FUSED.get(backend) if dropout is None else None
    if on_cpu and fused is not None:
        from keras_bert._torch_attention import is_faster_in_parts

        fused = None if is_faster_in_parts(query, key) else fused
    if fused is not None:
        context = fused(query, key, value, mask)
    elif on_cpu and _precise(query):
        return _attention_on_cpu(query, key, value, mask, dropout)
    elif backend == "jax" and dropout is not None:
        context = _dropped_attention_jax(query, key, value, mask, dropout)
    else:
        weights = ops.cast(_softmax(query, key, mask), value.dtype)
        if dropout is not None:
            weights = dropout.call(weights, training=True)
        context = ops.einsum("bnts,bsnd->btnd", weights, value)
    # Not by an index: LiteRT has no such slice of a bool.
    sees_any = ops.expand_dims(ops.any(mask, axis=-1), (2, 3))
    return ops.where(sees_any, context, ops.zeros((), context.dtype))


def _precise(x):
    # Products of float16 have to be made in float32.
    return keras.backend.standardize_dtype(x.dtype) != "float16"


def _attention_on_cpu(query, key, value, mask, dropout):
    """Attention of torch on a CPU, without its fused kernel."""
    from keras_bert._torch_attention import dropped_attention
    from keras_bert._torch_attention import filled_up
    from keras_bert._torch_attention import plain_attention

    query = query * (1.0 / math.sqrt(query.shape[-1]))
    # A product: to select takes three times as long, and all is finite here.
    sees_any = mask.any(-1)[:, :, None, None]
    in_pieces = dropout is not None and key.shape[1] >= _LONG
    if not in_pieces:
        key, value, mask = filled_up(key, value, mask)
    heads_first = (x.transpose(1, 2) for x in (query, key, value))
    bias = _MASKED * (~mask[:, None]).float()
    if in_pieces:
        context = dropped_attention()(*heads_first, bias, dropout.rate)
    else:
        context = plain_attention(*heads_first, bias, dropout)
    return context.transpose(1, 2) * sees_any


def _softmax(query, key, mask):
    # Scaling the query costs length x size products, the logits
    # length x length.
    query = query * (1.0 / math.sqrt(query.shape[-1]))
    if keras.backend.standardize_dtype(query.dtype) == "float16":
        # A float16 product overflows to infinity at 65504; bfloat16 has the
        # range of float32.
        query = ops.cast(query, "float32")
        key = ops.cast(key, "float32")
    logits = ops.cast(ops.einsum("btnd,bsnd->bnts", query, key), "float32")
    # Added, not selected: a sum costs nothing on the way back. The bias is
    # shared by all heads.
    masked = ops.cast(ops.expand_dims(ops.logical_not(mask), 1), "float32")
    return ops.softmax(logits + _MASKED * masked, axis=-1)


def _attention_jax(query, key, value, mask):
    import jax

    platform = jax.default_backend()
    dtype = query.dtype
    if platform == "cpu":
        # XLA has no float16 product with a float32 sum on the CPU.
        query, key, value = (
            ops.cast(x, "float32") if x.dtype == "float16" else x
            for x in (query, key, value)
        )
    # Only on a GPU may Keras look for a fused kernel: its path for TPUs
    # takes the mask of the first row for the whole batch. The mask has the
    # full two lengths, which cuDNN asks for.
    flash = None if platform == "gpu" else False
    context = ops.dot_product_attention(
        query, key, value, mask=mask[:, None], flash_attention=flash
    )
    return ops.cast(context, dtype)


def _dropped_attention_jax(query, key, value, mask, dropout):
    """Attention with dropout, whose way back reads the softmax alone.

    JAX would keep what comes after the softmax as well: with `recomputed`
    around the activation, 40% of the memory of a step at length 384.
    """
    import jax

    shape = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
    # Outside of what is done twice: a draw moves the state of the seeds. Of a
    # mask of another type XLA would keep the draws, 64 bits for each weight.
    kept = dropout.call(ops.ones(shape, "bfloat16"), training=True) > 0

    def context(query, key, value, mask, kept):
        weights = _softmax(query, key, mask)
        weights = jax.ad_checkpoint.checkpoint_name(weights, "softmax")
        weights = ops.where(kept, weights / (1.0 - dropout.rate), 0.0)
        weights = ops.cast(weights, value.dtype)
        return ops.einsum("bnts,bsnd->btnd", weights, value)

    policy = jax.checkpoint_policies.save_only_these_names("softmax")
    context = jax.checkpoint(context, policy=policy)
    return context(query, key, value, mask, kept)


def recomputed(function):
    """`function` of one tensor, computed anew on the way back.

    Of a GELU, JAX would keep two more tensors of the size of its input, 0.8
    of 5.8 GiB for bert_base and 8 rows of 384. Torch's own keeps the input
    alone. TensorFlow would save a tenth of the memory of a step, for a custom
    gradient in every exported graph.
    """
    jax = keras.config.backend() == "jax"
    return keras.remat(function) if jax else function


def _attention_torch(query, key, value, mask):
    import torch

    # A row without any key would be 0/0 in some kernels: let it see all.
    mask = mask | ~mask.any(dim=-1, keepdim=True)
    context = torch.nn.functional.scaled_dot_product_attention(
        query.transpose(1, 2),
        key.transpose(1, 2),
        value.transpose(1, 2),
        attn_mask=mask[:, None],
    )
    return context.transpose(1, 2)


# TensorFlow has no fused attention: XLA fuses part of the plain form.
_FUSED = {"jax": _attention_jax, "torch": _attention_torch}


class RowGradients:
    """Context in which torch gives gradients of token tables by their rows.

    A batch has a few hundred of the 30,000 rows of a table. As one dense
    tensor the gradient is made, cleared and freed at every step, a tenth of a
    step on short sentences. Only an optimizer that knows such gradients may
    get them (see `keras_bert.training.AdamW`), so nothing else enters here.
    """

    active = False

    def __enter__(self):
        RowGradients.active = True

    def __exit__(self, *error):
        RowGradients.active = False


def look_up(embedding, ids):
    """What `embedding`, a Keras layer, gives for int32 `ids`."""
    tables = list(embedding.parameters()) if RowGradients.active else []
    # More than one, or whole numbers: LoRA, or quantized.
    if len(tables) != 1 or not tables[0].is_floating_point():
        return embedding(ids)
    import torch

    rows = torch.nn.functional.embedding(ids, tables[0], sparse=True)
    return ops.cast(rows, embedding.compute_dtype)


def project(dense, x):
    """What `dense`, a Dense or EinsumDense over all last axes of `x`, gives."""
    plain = dense.quantization_mode is None and not dense.lora_enabled
    if keras.config.backend() != "torch" or not plain:
        return dense(x)
    import torch

    # As one product with the bias in it; einsum makes a batch of products.
    kernel = ops.convert_to_tensor(dense.kernel)
    bias = ops.convert_to_tensor(dense.bias)
    summed = kernel.ndim - bias.ndim
    x = ops.cast(x, dense.compute_dtype)
    rows = x.flatten(0, -1 - summed).flatten(1)
    found = torch.addmm(bias.flatten(), rows, kernel.reshape(rows.shape[1], -1))
    found = found.view(*x.shape[: x.ndim - summed], *bias.shape)
    return found if dense.activation is None else dense.activation(found)


def normalize(layer_norm, x):
    """What `layer_norm`, a Keras LayerNormalization of the last axis, gives.

    Torch's kernel for a CPU computes in float32 whatever it reads and writes;
    Keras makes a float32 tensor of a bfloat16 one for it, and back.
    """
    if keras.config.backend() != "torch" or x.device.type != "cpu":
        return layer_norm.call(x)
    if keras.backend.standardize_dtype(x.dtype) == "float16":
        return layer_norm.call(x)
    import torch

    return torch.nn.functional.layer_norm(
        ops.cast(x, layer_norm.compute_dtype),
        x.shape[-1:],
        layer_norm.gamma.value,
        layer_norm.beta.value,
        layer_norm.epsilon,
    )


def vocabulary_scores(x, table, bias, dtype):
    """x [..., width] times table [tokens, width], plus bias, in float32.

    `dtype` is that of the model's products. Where it is bfloat16, torch makes
    those of the gradients in it, as everywhere in the model: they take twice
    the time of the scores, which stay in float32.
    """
    if keras.config.backend() == "torch" and dtype == "bfloat16":
        from keras_bert._torch_scores import scores

        return scores()(x, table, bias)
    return ops.matmul(x, ops.transpose(table)) + bias


def gather_rows(x, positions):
    """Rows of each example: x [batch, length, ...], positions [batch, n]."""
    backend = keras.config.backend()
    if backend == "tensorflow":
        from keras_bert._tensorflow import tensorflow

        return tensorflow().gather(x, positions, axis=1, batch_dims=1)
    if backend == "torch":
        import torch

        index = positions.to(torch.int64)[(..., *[None] * (x.ndim - 2))]
        return torch.gather(x, 1, index.expand(-1, -1, *x.shape[2:]))
    index = positions[(..., *[None] * (x.ndim - 2))]
    return ops.take_along_axis(x, index, axis=1)


def dropout(x, rate, seed):
    """`x` with a share `rate` of its values dropped, the rest scaled up.

    `seed` is a Keras seed generator.
    """
    if keras.config.backend() == "torch" and x.device.type == "cpu":
        from keras_bert._torch_attention import random_kept

        kept, dropped = random_kept(x.shape, rate)
        return x * kept.to(x.dtype).mul_(1 / (1 - dropped))
    return keras.random.dropout(x, rate, seed=seed)


def fold_in_replica(seed):
    """The seed, made different on each replica of a tf.distribute strategy.

    The state of a seed generator is mirrored, so that without this all
    replicas would drop the same units.
    """
    if keras.config.backend() != "tensorflow":
        return seed
    from keras_bert._tensorflow import tensorflow

    tf = tensorflow()
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return seed
    replica = tf.cast(context.replica_id_in_sync_group, seed.dtype)
    # The state counts its draws in the second number; replicas take strides
    # of a large odd number there, so that their draws do not meet.
    return seed + tf.stack([tf.zeros_like(replica), replica * 1000003])
