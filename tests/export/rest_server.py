"""TensorFlow Serving's REST interface on SavedModels, in a page of Python.

    python -I rest_server.py FOLDER      prints the port; loopback only

Runs in a process that knows tensorflow and tensorflow-text and nothing else.
The server itself is on no package index that tests may use; what it does with
a SavedModel is written down, and this follows it: rows ("instances") and
columns ("inputs"), {"b64": ...}, defaults of signatures from saved_model.pb.

Source: https://www.tensorflow.org/tfx/serving/api_rest
"""

import base64
import importlib.util
import json
import sys
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401
from tensorflow.core.protobuf import saved_model_pb2


class Model:
    def __init__(self, folder):
        self.loaded = tf.saved_model.load(folder)
        self.signatures = self.loaded.signatures
        self.defaults = read_defaults(folder)

    def predict(self, request):
        name = request.get("signature_name", "serving_default")
        if name not in self.signatures:
            names = sorted(self.signatures)
            raise LookupError(f"no signature {name!r}; there are {names}")
        function = self.signatures[name]
        specs = function.structured_input_signature[1]
        rows = "instances" in request
        given = request["instances" if rows else "inputs"]
        if rows:
            if not isinstance(given[0], dict) or "b64" in given[0]:
                (only,) = set(specs) - set(self.defaults.get(name, {}))
                given = [{only: value} for value in given]
            given = {key: [row[key] for row in given] for key in given[0]}
        values = dict(self.defaults.get(name, {}))
        for key, value in given.items():
            values[key] = tensor(bytes_of(value), specs[key])
        outputs = {
            key: plain(x.numpy().tolist())
            for key, x in function(**values).items()
        }
        if not rows:
            return {"outputs": outputs}
        sizes = {len(value) for value in outputs.values()}
        if sizes != {len(next(iter(given.values())))}:
            raise ValueError("outputs are no rows; use the columnar format")
        return {
            "predictions": [
                dict(zip(outputs, row, strict=True))
                for row in zip(*outputs.values(), strict=True)
            ]
        }


def read_defaults(folder):
    """{signature: {input: tensor}} as saved_model.pb holds them."""
    message = saved_model_pb2.SavedModel()
    message.ParseFromString(Path(folder, "saved_model.pb").read_bytes())
    return {
        name: {
            key: tf.constant(tf.make_ndarray(value))
            for key, value in signature.defaults.items()
        }
        for name, signature in message.meta_graphs[0].signature_def.items()
    }


def bytes_of(value):
    if isinstance(value, list):
        return [bytes_of(one) for one in value]
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    return value


def tensor(value, spec):
    value = tf.constant(value, spec.dtype)
    # An empty list says nothing of its rank.
    return tf.reshape(value, [0] * spec.shape.rank) if not len(value) else value


def plain(value):
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.decode() if isinstance(value, bytes) else value


def op_names(function):
    """The operations of a function and of all that it calls."""
    graph = function.graph.as_graph_def()
    library = {f.signature.name: f for f in graph.library.function}
    found, todo, seen = set(), list(graph.node), set()
    while todo:
        node = todo.pop()
        found.add(node.op)
        for value in node.attr.values():
            for name in [value.func.name, *(f.name for f in value.list.func)]:
                if name in library and name not in seen:
                    seen.add(name)
                    todo.extend(library[name].node_def)
    return sorted(found)


class Handler(BaseHTTPRequestHandler):
    models = {}
    folder = None

    def model(self, name):
        if name not in self.models:
            self.models[name] = Model(str(self.folder / name))
        return self.models[name]

    def answer(self, status, content):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        name = self.path.removeprefix("/v1/models/").removesuffix("/metadata")
        if name == "/process":
            names = ["keras_bert", "keras_hub", "jax", "torch", "transformers"]
            found = [n for n in names if importlib.util.find_spec(n)]
            self.answer(200, {"found": found, "executable": sys.executable})
            return
        signatures = self.model(name).signatures
        self.answer(
            200,
            {
                key: {
                    "inputs": sorted(f.structured_input_signature[1]),
                    "outputs": sorted(f.structured_outputs),
                    "ops": op_names(f),
                }
                for key, f in signatures.items()
            },
        )

    def do_POST(self):
        name = self.path.removeprefix("/v1/models/").removesuffix(":predict")
        length = int(self.headers["Content-Length"])
        try:
            request = json.loads(self.rfile.read(length))
            self.answer(200, self.model(name).predict(request))
        except LookupError as error:
            self.answer(404, {"error": str(error)})
        except Exception as error:
            self.answer(400, {"error": f"{type(error).__name__}: {error}"})

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    Handler.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
