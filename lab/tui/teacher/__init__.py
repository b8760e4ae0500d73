"""The teacher's screens, and what a student sees of the teacher."""
