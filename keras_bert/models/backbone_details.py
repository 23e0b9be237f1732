"""What happens inside a backbone, as a layer of functional models."""

import keras


@keras.saving.register_keras_serializable("keras_bert")
class BackboneDetails(keras.layers.Layer):
    """Hidden states or attention scores of a backbone, in functional models.

    A layer beside the backbone because Keras takes every call of one layer in
    a functional model to return as many tensors as its first.
    """

    def __init__(self, backbone, details, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.backbone = backbone
        self.details = details

    def build(self, input_shape=None):
        self.built = True

    def call(self, inputs):
        return self.backbone(inputs, training=False, details=self.details)

    def compute_output_spec(self, inputs):
        return self.backbone.compute_output_spec(inputs, details=self.details)

    def get_config(self):
        # The backbone itself, not its config: Keras links two places that
        # hold one object only if it serializes the object in both.
        return {
            **super().get_config(),
            "backbone": self.backbone,
            "details": self.details,
        }

    @classmethod
    def from_config(cls, config):
        config = dict(config)
        if isinstance(config["backbone"], dict):
            config["backbone"] = keras.saving.deserialize_keras_object(
                config["backbone"]
            )
        return cls(**config)
