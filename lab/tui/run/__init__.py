"""The displayed run: where its records come from, the cursor in time, its verdicts. Nothing here draws."""
