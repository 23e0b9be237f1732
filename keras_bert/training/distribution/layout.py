"""How the weights of BERT are spread over a row of devices.

Each block has two pairs of products, and of each pair the first is split by
its columns and the second by its rows, so that one sum over the devices after
the second is all that they exchange (Shoeybi et al., 2019,
https://arxiv.org/abs/1909.08053, section 3). Heads stay whole: attention is
split by heads. The token table is split by tokens.
"""

# (end of the variable's path, the axis that is split)
SPLIT_AXES = (
    ("token_embedding/embeddings", 0),  # [vocabulary, hidden]
    ("query_key_value/kernel", 2),  # [hidden, 3, heads, size]
    ("query_key_value/bias", 1),  # [3, heads, size]
    ("attention_output/kernel", 0),  # [heads, size, hidden]
    ("feedforward_intermediate_dense/kernel", 1),  # [hidden, intermediate]
    ("feedforward_intermediate_dense/bias", 0),  # [intermediate]
    ("feedforward_output_dense/kernel", 0),  # [intermediate, hidden]
    ("mlm_head/output_bias", 0),  # [vocabulary]
)


def split_axis(path, shape, parts):
    """The axis over which a variable is split, or None to copy it.

    An axis that the number of parts does not divide is not split. The
    vocabulary of 30,522 is one for 4 parts: its table is then split by the
    hidden size, the second axis.
    """
    for ending, axis in SPLIT_AXES:
        if path.endswith(ending):
            if shape[axis] % parts == 0:
                return axis
            if ending == "token_embedding/embeddings" and not shape[1] % parts:
                return 1
    return None
