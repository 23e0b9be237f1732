"""Scores of the vocabulary for torch, with gradients in bfloat16."""

import functools


@functools.cache
def scores():
    """The function of (x, table, bias); see its class."""
    # Here, since only users of torch have it.
    import torch

    class Scores(torch.autograd.Function):
        """x table^T + bias.

        Args:
            x: float32 `[..., width]`, made from bfloat16.
            table: float32 `[tokens, width]`. bias: float32 `[tokens]`.
        """

        @staticmethod
        def forward(context, x, table, bias):
            context.save_for_backward(x.bfloat16(), table)
            found = torch.addmm(bias, x.flatten(0, -2), table.t())
            return found.view(*x.shape[:-1], len(table))

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, gradient):
            x, table = context.saved_tensors
            gradient = gradient.flatten(0, -2)
            small = gradient.bfloat16()
            to_x = torch.mm(small, table.bfloat16()).float().view(x.shape)
            to_table = None
            if context.needs_input_grad[1]:
                to_table = torch.mm(small.t(), x.flatten(0, -2)).float()
            return to_x, to_table, gradient.sum(0)

    return Scores.apply
