"""The estimators: what scikit-learn sees of the library.

``transformer`` turns a table into local scores. ``learner`` finds the best network;
``learner_cv`` chooses the penalty as well, by the folds of ``held_out``. ``fitting`` has the
steps that their fits share, and ``network_estimator`` what users ask of them after a fit.
"""
