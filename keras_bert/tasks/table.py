"""The one table of tasks, which the verbs of the command line read."""

from keras_bert.tasks import text

TASKS = {task.name: task for task in (text.TASK,)}
