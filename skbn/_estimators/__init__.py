"""The estimators: what scikit-learn sees of the library.

``transformer`` turns a table into local scores. ``learner`` finds the best network and
``learner_cv`` chooses the penalty, by the folds of ``held_out``; both derive from
``network_learner``. ``validation`` checks what users give.
"""
