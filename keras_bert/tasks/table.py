"""The one table of tasks, which the verbs of the command line read."""

from keras_bert.tasks import _squad_task
from keras_bert.tasks import ner
from keras_bert.tasks import text

TASKS = {task.name: task for task in (*_squad_task.TASKS, ner.TASK, text.TASK)}
