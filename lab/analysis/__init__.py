"""Folds over records: elections, groups, transactions, space-time, causality, delivery outcomes and more."""
