"""The controllers of a run screen: each performs the actions of one concern."""
