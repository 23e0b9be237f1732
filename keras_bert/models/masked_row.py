"""One row of ids from texts in which the mask token is written out."""

import numpy as np


def masked_row(tokenizer, texts):
    """Ids and segment ids of [CLS] A [SEP], or of [CLS] A [SEP] B [SEP].

    The mask token is recognised where it is written; every other special
    token is plain text.

    Args:
        tokenizer: a `BertTokenizer`.
        texts: one or two strings, each with any number of masks.

    Returns two int32 arrays `[length]`.
    """
    mask = tokenizer.id_to_token(tokenizer.mask_token_id)
    ids, segments = [tokenizer.cls_token_id], [0]
    for segment, text in enumerate(texts):
        for index, part in enumerate(text.split(mask)):
            if index:
                ids.append(tokenizer.mask_token_id)
            ids.extend(np.asarray(tokenizer(part)).tolist())
        ids.append(tokenizer.sep_token_id)
        segments += [segment] * (len(ids) - len(segments))
    return np.array(ids, "int32"), np.array(segments, "int32")
