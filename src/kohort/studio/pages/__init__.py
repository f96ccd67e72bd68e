"""The pages of the studio, in the order of the walk."""
