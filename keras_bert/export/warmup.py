"""Requests that TensorFlow Serving runs when it loads a model.

TensorFlow prepares a graph when it first runs: without this the first users
wait. The server reads `assets.extra/tf_serving_warmup_requests`, a TFRecord
file of `tensorflow.serving.PredictionLog` messages. Their classes are in the
package tensorflow-serving-api; four nested fields do not need it.

Source: https://www.tensorflow.org/tfx/serving/saved_model_warmup and the
numbers of the fields in prediction_log.proto, predict.proto and model.proto of
https://github.com/tensorflow/serving/tree/master/tensorflow_serving/apis
"""

from pathlib import Path

from keras_bert._tensorflow import tensorflow


def write_warmup(folder, examples):
    """Writes one request for each signature.

    Args:
        folder: path of the SavedModel.
        examples: dict of signature name -> dict of input name -> value.
    """
    tf = tensorflow()
    path = Path(folder, "assets.extra", "tf_serving_warmup_requests")
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in examples.items():
            writer.write(_prediction_log(signature, inputs))


def _prediction_log(signature, inputs):
    tf = tensorflow()
    # PredictRequest: model_spec = 1 {signature_name = 3}, inputs = 2, a map.
    request = _field(1, _field(3, signature.encode()))
    for name, value in inputs.items():
        if not hasattr(value, "dtype"):
            value = tf.constant(value)
        tensor = tf.make_tensor_proto(value).SerializeToString()
        request += _field(2, _field(1, name.encode()) + _field(2, tensor))
    # PredictionLog: predict_log = 6 {request = 1}.
    return _field(6, _field(1, request))


def _field(number, content):
    """One length-delimited field of a protocol buffer."""
    size, varint = len(content), b""
    while size > 0x7F:
        varint += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + varint + bytes([size]) + content
