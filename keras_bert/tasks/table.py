"""The one table of tasks, which the verbs of the command line read."""

from keras_bert.tasks import _squad_task
from keras_bert.tasks import glue
from keras_bert.tasks import ner
from keras_bert.tasks import swag
from keras_bert.tasks import text

TASKS = {
    task.name: task
    for task in (
        *glue.GLUE_TASKS,
        *_squad_task.TASKS,
        swag.TASK,
        ner.TASK,
        text.TASK,
    )
}
