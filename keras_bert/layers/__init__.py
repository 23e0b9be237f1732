from keras_bert.layers.bert_embeddings import BertEmbeddings
from keras_bert.layers.bert_encoder_block import BertEncoderBlock
from keras_bert.layers.bert_self_attention import BertSelfAttention
from keras_bert.layers.id_checks import check_ids
from keras_bert.layers.masked_lm_head import MaskedLMHead
from keras_bert.layers.packing import attention_mask
from keras_bert.layers.packing import positions

__all__ = [
    "BertEmbeddings",
    "BertEncoderBlock",
    "BertSelfAttention",
    "MaskedLMHead",
    "attention_mask",
    "check_ids",
    "positions",
]
