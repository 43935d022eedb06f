"""The estimators: what scikit-learn sees of the library.

``transformer`` has the transformers of tables. ``learner`` finds the best network; ``learner_cv``
chooses the penalty as well, by folds. ``fitting`` has the steps that their fits share, and
``network_estimator`` what users ask of them after a fit.
"""
