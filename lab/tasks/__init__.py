"""The parts of a task beside its protocols: folds, descriptions, predicates, views."""
