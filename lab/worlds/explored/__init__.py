"""Every order of deliveries, kills and timeouts, up to a bound: what may happen, not what did."""
