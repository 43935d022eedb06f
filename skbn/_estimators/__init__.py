"""The estimators: what scikit-learn sees of the library.

``transformer`` has the transformers of tables. ``learner`` finds the best network, and has the base
classes: what users ask after a fit; ``learner_cv`` chooses the penalty as well, by folds.
``fitting`` has the steps that their fits share.
"""
