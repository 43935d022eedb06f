"""Ctrl-C, and callbacks of scikit-learn that record, stop or interrupt a fit."""

import signal

import pytest

needs_callbacks = pytest.mark.needs_sklearn("1.9", "has callbacks")


def interrupt(*_):
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


class Recorder:
    """A callback that is handed on to the estimators within another, as a progress bar is."""

    max_propagation_depth = None

    def __init__(self):
        self.ended = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.ended.append((context.estimator_name, context.task_name))


class Interrupter(Recorder):
    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        if len(self.ended) == 40:
            interrupt()


class Stopper(Recorder):
    def on_fit_task_end(self, estimator, context):
        super().on_fit_task_end(estimator, context)
        return len(self.ended) == 30
