"""The estimators: what scikit-learn sees of the library.

``transformer`` turns a table into local scores. ``learner`` finds the best network;
``learner_cv`` chooses the penalty as well, by the folds of ``held_out``. ``network_estimator``
has what they share, and checks what users give.
"""
