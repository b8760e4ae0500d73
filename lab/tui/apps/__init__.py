"""The applications: screens of runs on a stack, the exercises, the class, lectures, films."""
