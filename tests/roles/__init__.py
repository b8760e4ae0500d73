"""Clients and services beside the cluster."""
