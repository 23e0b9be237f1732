"""Attention in training, for torch on a CPU: plain, or in pieces.

Torch has no fused kernel with dropout there: whole arrays of weights, several
of them per block, go to memory and back and are kept for the gradient. In
pieces that fit a cache, a few rows of the batch are worked through at a time,
and the weights are computed again on the way back; kept is one byte per
weight, whether it was dropped. On 32 rows of 256 tokens forward and backward
together take 190 ms against 300, and 520 for `scaled_dot_product_attention`.
"""

import functools
import math

# Weights in a piece: 4 MB as float32.
_PIECE = 2**20

# Keys up to which the fused kernel loses in bfloat16.
_SHORT = 256


def random_kept(shape, rate):
    """Bool tensor, False for a share `rate`, and that share in numbers.

    Four draws of 16 bits come from each random number: `bernoulli_`, which
    torch's dropout uses, is several times as slow and a tenth of a step.
    """
    import torch

    count, drop = math.prod(shape), round(rate * 2**16)
    bits = torch.empty(-(-count // 4), dtype=torch.int64)
    bits = bits.random_(-(2**63), None).view(torch.int16)[:count]
    return (bits >= drop - 2**15).view(shape), drop / 2**16


def filled_up(key, value, mask):
    """Keys, values [batch, from, heads, size] and mask [batch, to, from] with
    masked keys added, up to 16.

    The softmax of fewer than 16 numbers takes torch up to ten times as long
    as that of 16: 1.9 ms against 0.17 for 32 rows of 14 tokens and 12 heads.
    """
    import torch

    missing = 16 - key.shape[1]
    if missing <= 0:
        return key, value, mask
    more = (0, 0, 0, 0, 0, missing)
    pad = torch.nn.functional.pad
    return pad(key, more), pad(value, more), pad(mask, (0, missing))


def is_faster_in_parts(query, key):
    """Whether products and a softmax beat torch's fused kernel.

    Its way back is slow in bfloat16: 26 ms against 8 for 128 rows of 32
    tokens and 4 heads, 34 against 23 for 16 rows of 256.
    """
    import torch

    return (
        torch.is_grad_enabled()
        and query.requires_grad
        and query.dtype == torch.bfloat16
        and key.shape[1] <= _SHORT
    )


def plain_attention(query, key, value, bias, dropout):
    """softmax(query key^T + bias), dropped unless `dropout` is None, times
    value; the arguments are those of `dropped_attention`."""
    import torch

    weights = _weights(query, key, bias).to(value.dtype)
    if dropout is not None:
        weights = dropout.call(weights, training=True)
    return torch.matmul(weights, value)


def _weights(query, key, bias):
    import torch

    logits = torch.matmul(query, key.transpose(-1, -2)).float()
    return torch.softmax(logits.add_(bias), -1)


def _pieces(query, key):
    """Slices of the batch."""
    weights = query.shape[1] * query.shape[2] * key.shape[2]
    rows = max(1, _PIECE // weights)
    return [slice(i, i + rows) for i in range(0, len(query), rows)]


@functools.cache
def dropped_attention():
    """The function of (query, key, value, bias, rate); see its class."""
    # Here, since only users of torch have it.
    import torch

    class DroppedAttention(torch.autograd.Function):
        """softmax(query key^T + bias), dropped, times value.

        Args:
            query: `[batch, heads, to, size]`, scaled.
            key, value: `[batch, heads, from, size]`.
            bias: float32 `[batch, 1, to, from]`, added to the logits.
            rate: float. The share of the weights to drop.
        """

        @staticmethod
        def forward(context, query, key, value, bias, rate):
            shape = (*query.shape[:3], key.shape[2])
            kept, dropped = random_kept(shape, rate)
            context.scale = 1 / (1 - dropped)
            context.save_for_backward(query, key, value, bias, kept)
            # In memory as the next product reads it: heads after positions.
            found = torch.empty_like(query.transpose(1, 2)).transpose(1, 2)
            for rows in _pieces(query, key):
                weights = _weights(query[rows], key[rows], bias[rows])
                weights = weights.mul_(kept[rows]).to(value.dtype)
                found[rows] = torch.matmul(weights, value[rows])
            return found.mul_(context.scale)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, gradient):
            query, key, value, bias, kept = context.saved_tensors
            found = [torch.empty_like(x) for x in (query, key, value)]
            gradient = gradient * context.scale
            for rows in _pieces(query, key):
                q, k, v, g = (x[rows] for x in (query, key, value, gradient))
                weights = _weights(q, k, bias[rows])
                dropped = (weights * kept[rows]).to(v.dtype)
                found[2][rows] = torch.matmul(dropped.transpose(-1, -2), g)
                # Through the dropout, then through the softmax.
                d = (
                    torch.matmul(g, v.transpose(-1, -2))
                    .float()
                    .mul_(kept[rows])
                )
                d.sub_((d * weights).sum(-1, keepdim=True)).mul_(weights)
                d = d.to(q.dtype)
                found[0][rows] = torch.matmul(d, k)
                found[1][rows] = torch.matmul(d.transpose(-1, -2), q)
            return (*found, None, None)

    return DroppedAttention.apply
