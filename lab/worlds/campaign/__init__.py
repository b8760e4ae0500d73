"""Campaigns: many simulated runs under drawn faults, what they found, and the least that still shows it."""
