"""How the numbers of a variable are laid out in each format.

    kind                      here         2018 code  Hugging Face  KerasHub,
                                                                    Model Garden
    vector                    any shape    the same   the same      the same
    kernel                    [in, out]    [in, out]  [out, in]     [in, out]
    output_kernel             [in, out]    [out, in]  [out, in]     [in, out]
    query_key_value_kernel    [H, 3, N, D] 3 [H, H]   3 [H, H].T    3 [H, N, D]
    query_key_value_bias      [3, N, D]    3 [H]      3 [H]         3 [N, D]
    attention_output_kernel   [N, D, H]    [H, H]     [H, H].T      [N, D, H]

Only axes move: no number changes, and the type stays that of the file.
"""

import numpy as np

_TRANSPOSED_KERNELS = ("huggingface",)
_TRANSPOSED_OUTPUTS = ("google", "huggingface")
_FLAT_HEADS = ("google", "huggingface")
_FUSED_AXES = {"query_key_value_kernel": 1, "query_key_value_bias": 0}
_PER_HEAD = (*_FUSED_AXES, "attention_output_kernel")


def join(kind, format, arrays, num_heads):
    """Foreign arrays of one variable -> our array."""
    parts = [_to_ours(kind, format, array, num_heads) for array in arrays]
    if kind in _FUSED_AXES:
        return np.stack(parts, axis=_FUSED_AXES[kind])
    return parts[0]


def split(kind, format, array):
    """Our array -> the foreign arrays of that variable."""
    parts = [array]
    if kind in _FUSED_AXES:
        axis = _FUSED_AXES[kind]
        parts = [array[(slice(None),) * axis + (i,)] for i in range(3)]
    if format in _FLAT_HEADS and kind in _PER_HEAD:
        parts = [_merge_heads(kind, part) for part in parts]
    if _flips(kind, format):
        parts = [part.T for part in parts]
    return parts


def joined_shape(kind, format, shapes, num_heads):
    """The shape `join` would give; reads nothing and takes no memory."""
    if len(set(shapes)) > 1:
        raise ValueError(f"query, key and value differ in shape: {shapes}")
    empty = np.broadcast_to(np.zeros((), "int8"), shapes[0])
    shape = list(_to_ours(kind, format, empty, num_heads).shape)
    if kind in _FUSED_AXES:
        shape.insert(_FUSED_AXES[kind], len(shapes))
    return tuple(shape)


def split_shapes(kind, format, shape):
    """The shapes `split` would give."""
    empty = np.broadcast_to(np.zeros((), "int8"), shape)
    return [part.shape for part in split(kind, format, empty)]


def _to_ours(kind, format, array, num_heads):
    if _flips(kind, format):
        array = array.T
    if format in _FLAT_HEADS and kind in _PER_HEAD:
        array = _split_heads(kind, array, num_heads)
    return array


def _flips(kind, format):
    if kind == "output_kernel":
        return format in _TRANSPOSED_OUTPUTS
    return kind.endswith("kernel") and format in _TRANSPOSED_KERNELS


def _split_heads(kind, array, num_heads):
    axis = 0 if kind == "attention_output_kernel" else -1
    size = array.shape[axis]
    if size % num_heads:
        raise ValueError(
            f"an axis of {size} cannot be divided among {num_heads} heads"
        )
    heads = (num_heads, size // num_heads)
    if kind == "attention_output_kernel":
        return array.reshape(*heads, array.shape[1])
    return array.reshape(*array.shape[:-1], *heads)


def _merge_heads(kind, array):
    if kind == "attention_output_kernel":
        return array.reshape(-1, array.shape[-1])
    return array.reshape(*array.shape[:-2], -1)
