"""The widgets of a run screen, and the forms of dialogs."""
