"""Text files -> documents -> segment pairs -> packed rows -> masked batches."""

from keras_bert.data.corpus import Corpus as Corpus
from keras_bert.data.documents import read_documents as read_documents
from keras_bert.data.epoch_cell import EpochCell as EpochCell
from keras_bert.data.google_records import GoogleSettings as GoogleSettings
from keras_bert.data.masking import Masking as Masking
from keras_bert.data.memory_shards import MemoryShards as MemoryShards
from keras_bert.data.next_tokens import next_tokens as next_tokens
from keras_bert.data.preparation import Preparation as Preparation
from keras_bert.data.prepare import prepare as prepare
from keras_bert.data.pretraining_batches import (
    PretrainingBatches as PretrainingBatches,
)
from keras_bert.data.pretraining_dataset import (
    pretraining_dataset as pretraining_dataset,
)
from keras_bert.data.python_docs import (
    labelled_docstrings as labelled_docstrings,
)
from keras_bert.data.python_docs import (
    python_documentation as python_documentation,
)
from keras_bert.data.segment_joiner import SegmentJoiner as SegmentJoiner
from keras_bert.data.sentences import split_sentences as split_sentences
from keras_bert.data.shard_folder import ShardFolder as ShardFolder
from keras_bert.data.unigram import dataset_level as dataset_level
from keras_bert.data.unigram import unigram_level as unigram_level
from keras_bert.tokenizers._group_factors import group_factors as group_factors
