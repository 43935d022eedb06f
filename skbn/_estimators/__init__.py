"""The estimators: what scikit-learn sees of the library.

Dependencies point one way: ``_failures`` (what a fit that fails leaves), ``_validation``
(parameters and tables that users give) and ``_chunks`` (tables in parts); ``_transformer``
(from a table to its local scores); ``_found_network`` (what a search ends with);
``_network_learner`` (what learners have in common); ``_learner`` (the best network);
``_held_out`` (the folds of a cross-validation) and ``_learner_cv`` (the penalty chosen by them).
"""
