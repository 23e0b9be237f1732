"""Text <-> ids: exact in-graph WordPiece, vocabulary files and training."""

from keras_bert.tokenizers.bert_tokenizer import BertTokenizer as BertTokenizer
