"""Campaigns: many simulated runs under random faults, their findings, and the shrinking of a finding."""
