"""What belongs to one task, beside its protocols: folds, descriptions, predicates, views."""
