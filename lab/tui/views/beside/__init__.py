"""Another recording beside this one."""
