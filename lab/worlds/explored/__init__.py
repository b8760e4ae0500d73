"""Model checking: every order of deliveries, timeouts and faults, up to a bound."""
