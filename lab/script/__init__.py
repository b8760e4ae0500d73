"""The command language: commands, triggers, predicates, expectations, and the director that schedules them."""
